/** Knows what stands at the end of a test run: how to repeat each file that failed, and `N passed, N failed`. */
import { relative } from 'node:path';
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
    const lines = [
      ...waysToRepeat(modules),
      `${counts.passed} passed, ${counts.failed} failed${suffix}`,
    ];
    process.stdout.write(`\n${lines.join('\n')}\n`);
  }
}

/** One command for each file that failed or never ended, valid in a fresh clone too. */
function waysToRepeat(modules: readonly TestModule[]): string[] {
  const root = process.cwd();
  const commands = modules
    .filter((module) => module.state() !== 'passed' && module.state() !== 'skipped')
    .map((module) => `  npm test -- ${relative(root, module.moduleId)}`);
  return commands.length === 0 ? [] : ['to repeat what failed:', ...commands, ''];
}
