/** A line through points by least squares. */
export interface Line {
  readonly slope: number;
  /** Standard error of the slope. */
  readonly error: number;
  readonly mean: number;
}

/** Needs three points or more with different x. */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): Line {
  const n = points.length;
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / n;
  const mean = points.reduce((sum, [, y]) => sum + y, 0) / n;
  let xx = 0;
  let xy = 0;
  for (const [x, y] of points) {
    xx += (x - meanX) ** 2;
    xy += (x - meanX) * (y - mean);
  }
  const slope = xy / xx;
  const residuals = points.reduce((sum, [x, y]) => sum + (y - mean - slope * (x - meanX)) ** 2, 0);
  return { slope, error: Math.sqrt(residuals / (n - 2) / xx), mean };
}
