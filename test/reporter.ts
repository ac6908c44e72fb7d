import type { Reporter, TestModule } from "vitest/node";

/** Prints, last of all, one line `N passed, N failed, N skipped` that a machine can read; before it the steps of `.ci/run` that failed. */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let passed = 0;
    let failed = unhandledErrors.length;
    let skipped = 0;
    for (const module of modules) {
      const before = passed + failed + skipped;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") passed += 1;
        else if (state === "failed") failed += 1;
        else skipped += 1;
      }
      const ranNothing = passed + failed + skipped === before;
      if (module.state() === "failed" && (ranNothing || module.errors().length > 0)) failed += 1;
    }
    const steps = process.env.TRADEWIND_CI_FAILED_STEPS;
    if (steps) process.stdout.write(`\nfailed before the tests: ${steps}\n`);
    process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  }
}
