/** Knows the one line that machines read at the end of a test run: `N passed, N failed`. */
import type { Reporter, TestModule } from 'vitest/node';

export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      // A file that cannot be loaded, or whose hooks fail, holds no failed test to count.
      if (module.errors().length > 0) counts.failed += 1;
      for (const test of module.children.allTests()) counts[test.result().state] += 1;
      for (const suite of module.children.allSuites()) counts.failed += suite.errors().length;
    }
    const skipped = counts.skipped + counts.pending;
    const suffix = skipped === 0 ? '' : `, ${skipped} skipped`;
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed${suffix}\n`);
  }
}
