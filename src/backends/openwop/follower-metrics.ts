/** How far one followed run is known to be level with its host. */
export class RunWatch {
  readonly #metrics: FollowerMetrics;
  #levelAt = Date.now();
  #streaming = false;
  #opened = false;

  constructor(metrics: FollowerMetrics) {
    this.#metrics = metrics;
  }

  /** The run was compared with its host. */
  level(): void {
    this.#levelAt = Date.now();
  }

  /** A stream of the run is open: what happens is told at once. */
  open(): void {
    if (this.#opened) this.#metrics.reconnects++;
    this.#opened = true;
    this.#streaming = true;
  }

  /** The stream has ended. */
  close(): void {
    if (this.#streaming) this.level();
    this.#streaming = false;
  }

  /** Milliseconds since the run was last known to be level; 0 while its stream is open. */
  age(now: number): number {
    return this.#streaming ? 0 : Math.max(0, now - this.#levelAt);
  }
}

/** What the followers of one agent count in this process. */
export class FollowerMetrics {
  /** Streams that were opened again after one of the same run had ended. */
  reconnects = 0;
  /** Looks at runs that have no stream. */
  polls = 0;
  /** Times that a run could not be read, for whatever reason. */
  faults = 0;
  /** Runs that another process took over while this one followed them. */
  leasesLost = 0;
  readonly #watches = new Set<RunWatch>();

  watch(): RunWatch {
    const watch = new RunWatch(this);
    this.#watches.add(watch);
    return watch;
  }

  forget(watch: RunWatch): void {
    this.#watches.delete(watch);
  }

  /** The age of the followed run that was not compared with its host for longest, in milliseconds; 0 without any. */
  oldestAge(now: number): number {
    let oldest = 0;
    for (const watch of this.#watches) oldest = Math.max(oldest, watch.age(now));
    return oldest;
  }
}
