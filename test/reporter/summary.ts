import { writeSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

/**
 * Prints one machine-readable line as the very last output of a test run:
 * `N passed, N failed`, with `, N skipped` added when tests were skipped.
 *
 * Everything that makes a run red counts as a failure: a test, a file that does not load, a suite whose
 * hook throws, an unhandled error, and a run that fails without naming any of those.
 */
export default class SummaryReporter implements Reporter {
  #passed = 0;
  #failed = 0;
  #skipped = 0;

  onInit(): void {
    // At exit rather than at the end of the run, because other reporters and vitest itself may print later.
    process.once("exit", (code) => {
      writeSync(process.stdout.fd, `${this.summary(code)}\n`);
    });
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    this.#passed = 0;
    this.#failed = unhandled.length;
    this.#skipped = 0;
    for (const module of modules) this.#count(module);
  }

  /** The line itself, for a process that ends with `exitCode`. */
  summary(exitCode: number): string {
    const failed = exitCode !== 0 && this.#failed === 0 ? 1 : this.#failed;
    const line = `${this.#passed} passed, ${failed} failed`;
    return this.#skipped > 0 ? `${line}, ${this.#skipped} skipped` : line;
  }

  #count(module: TestModule): void {
    this.#failed += module.errors().length > 0 ? 1 : 0;
    for (const suite of module.children.allSuites()) this.#failed += suite.errors().length > 0 ? 1 : 0;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === "passed") this.#passed += 1;
      else if (state === "failed") this.#failed += 1;
      // A test that never ran is pending when the file failed before it, which the file's error already counts.
      else if (state === "skipped") this.#skipped += 1;
    }
  }
}
