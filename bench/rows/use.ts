/** What programs use of their cores while something runs. */
/** Shares of the time that passed, 0 to 1. */
export interface Use {
  /** CPU time of all its threads; above 1 where more than one core was at hand. */
  readonly cpu: number;
  /**
   * Time in which its event loop had work. Near 1, the program was what held everything up, also where it got less than
   * a core because others use the machine.
   */
  readonly busy: number;
}

/** As a program counts it, in seconds since its start. */
export interface Used {
  readonly cpu: number;
  readonly busy: number;
}

export interface Usable {
  used(): Promise<Used>;
}

/** Runs `work`; answers what came of it and what each program used meanwhile. */
export async function withUse<T>(
  programs: readonly Usable[],
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly uses: readonly Use[] }> {
  const look = () => Promise.all(programs.map((program) => program.used()));
  const before = await look();
  const started = performance.now();
  const result = await work();
  const seconds = (performance.now() - started) / 1000;
  const uses = (await look()).map(({ cpu, busy }, index) => ({
    cpu: (cpu - (before[index]?.cpu ?? 0)) / seconds,
    busy: (busy - (before[index]?.busy ?? 0)) / seconds,
  }));
  return { result, uses };
}
