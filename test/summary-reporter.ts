/** Knows what stands at the end of a test run: how to repeat what failed, what was skipped and why, and `N passed, N failed`. */
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node';

export default class SummaryReporter implements Reporter {
  /** Who asks for some tests by name knows why the others are skipped. */
  #isFiltered = false;

  onInit({ config }: Vitest): void {
    this.#isFiltered = config.testNamePattern !== undefined;
  }

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
      ...(this.#isFiltered ? [] : modules.flatMap(reasonsOfSkips)),
      `${counts.passed} passed, ${counts.failed} failed${suffix}`,
    ];
    process.stdout.write(`\n${lines.join('\n')}\n`);
  }
}

const ordinaryProjects = ['', 'unit', 'api', 'system'];

/** One command for each file that failed or never ended, valid in a fresh clone too. */
function waysToRepeat(modules: readonly TestModule[]): string[] {
  const commands = modules
    .filter((module) => module.state() !== 'passed' && module.state() !== 'skipped')
    .map((module) => {
      const { name } = module.project;
      const script = ordinaryProjects.includes(name) ? 'test' : `run test:${name.split('-')[0]}`;
      return `  npm ${script} -- ${pathOf(module)}`;
    });
  return commands.length === 0 ? [] : ['to repeat what failed:', ...commands, ''];
}

/** A line for each outermost suite or test that was skipped; what a suite needed stands in its name. */
function reasonsOfSkips(module: TestModule): string[] {
  const outermost = (tasks: Iterable<TestCase | TestSuite>): (TestCase | TestSuite)[] =>
    [...tasks].flatMap((task) => {
      if (task.type === 'test') return task.result().state === 'skipped' ? [task] : [];
      return task.state() === 'skipped' ? [task] : outermost(task.children);
    });
  return outermost(module.children).map((task) => {
    const result = task.type === 'test' ? task.result() : null;
    const note = result?.state === 'skipped' && result.note ? ` (${result.note})` : '';
    return `skipped: ${pathOf(module)}: ${task.fullName}${note}`;
  });
}

function pathOf(module: TestModule): string {
  return relative(process.cwd(), module.moduleId);
}
