/** Where a run is hit, and by what. */
export const KILL_POINTS = [
  "before-commit",
  "during-commit",
  "after-commit",
  "after-relay",
  "after-take",
  "mid-post",
  "before-ack",
  "during-ack",
] as const;

export type KillPoint = (typeof KILL_POINTS)[number];

/** `process`: kill -9 of the gateway process. `redis`: kill -9 of Redis, which is started again. */
export const VICTIMS = ["process", "redis"] as const;

export type Victim = (typeof VICTIMS)[number];

export interface CrashPlan {
  readonly seed: number;
  readonly victim: Victim;
  readonly point: KillPoint;
  /** Which passing of the point is hit, from 1. */
  readonly nth: number;
  readonly tasks: number;
  /** Progress events of each task, between its start and its end. */
  readonly events: number;
}

/** A small generator with a seed (mulberry32), so that a run can be repeated. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The plan of a seed: every point and victim comes up once in each round of seeds. */
export function planOf(seed: number): CrashPlan {
  const random = randomOf(seed);
  const points = KILL_POINTS.length;
  const point = KILL_POINTS[seed % points] ?? "before-commit";
  const victim = VICTIMS[Math.floor(seed / points) % VICTIMS.length] ?? "process";
  return {
    seed,
    victim,
    point,
    nth: 1 + Math.floor(random() * 4),
    tasks: 1 + Math.floor(random() * 3),
    events: 1 + Math.floor(random() * 5),
  };
}
