/** A scrape, parsed: the value of each series by its name and labels as they are printed. */
export async function scrape(adminUrl: string): Promise<Map<string, number>> {
  const response = await fetch(`${adminUrl}/metrics`);
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}`);
  return parse(await response.text());
}

const SERIES =
  /^([a-zA-Z_:][\w:]*(?:\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})?) (nan|[+-]?inf|[+-]?[\d.]+(?:e[+-]?\d+)?)$/i;

/** Throws at a line that is not of the format, a family that is there twice and a series without a family. */
export function parse(text: string): Map<string, number> {
  const found = new Map<string, number>();
  const families = new Set<string>();
  for (const line of text.split("\n")) {
    const type = /^# TYPE (\S+) (counter|gauge|histogram|summary)$/.exec(line);
    if (type?.[1] !== undefined) {
      if (families.has(type[1])) throw new Error(`${type[1]} is there twice`);
      families.add(type[1]);
    }
    if (line === "" || line.startsWith("# ")) continue;
    const [, series = "", value = ""] = SERIES.exec(line) ?? [];
    const name = series.replace(/\{.*/, "");
    const family = families.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "");
    if (!families.has(family)) throw new Error(`not a series: ${line}`);
    if (found.has(series)) throw new Error(`twice: ${series}`);
    found.set(series, /inf$/i.test(value) ? Number.POSITIVE_INFINITY : Number(value));
  }
  return found;
}

/** The sum of the series of a name whose labels hold all of `labels`. */
export function sum(
  series: ReadonlyMap<string, number>,
  name: string,
  labels: Record<string, string> = {},
): number {
  let total = 0;
  for (const [key, value] of series) {
    if (key.replace(/\{.*/, "") !== name) continue;
    if (Object.entries(labels).every(([label, text]) => key.includes(`${label}="${text}"`))) total += value;
  }
  return total;
}
