/**
 * Prints the end of a test run: failures with the command to repeat them, reasons of skips, and `N
 * passed, N failed`.
 */
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node';

export default class SummaryReporter implements Reporter {
  /** With a name filter, the reasons of skips are omitted. */
  #isFiltered = false;

  onInit({ config }: Vitest): void {
    this.#isFiltered = config.testNamePattern !== undefined;
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly { message: string }[],
  ): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      // A file that cannot be loaded, or whose hooks fail, contains no failed test to count.
      if (module.errors().length > 0) counts.failed += 1;
      for (const test of module.children.allTests()) counts[test.result().state] += 1;
      for (const suite of module.children.allSuites()) counts.failed += suite.errors().length;
    }
    const skipped = counts.skipped + counts.pending;
    const suffix = skipped === 0 ? '' : `, ${skipped} skipped`;
    const lines = [
      ...waysToRepeat(modules),
      ...modules.flatMap(failuresOf),
      ...modules.flatMap(repetitionsOf),
      ...unhandledErrors.map((error) => `failed: beside the tests (${firstLine(error)})`),
      ...(this.#isFiltered ? [] : modules.flatMap(reasonsOfSkips)),
      `${counts.passed} passed, ${counts.failed} failed${suffix}`,
    ];
    process.stdout.write(`\n${lines.join('\n')}\n`);
  }
}

const ordinaryProjects = ['', 'unit', 'api', 'system'];

/** One command for each file that failed or never ended; it also works in a fresh clone. */
function waysToRepeat(modules: readonly TestModule[]): string[] {
  const commands = modules
    .filter((module) => !hasEndedWell(module))
    .map((module) => {
      const { name } = module.project;
      const script = ordinaryProjects.includes(name) ? 'test' : `run test:${name.split('-')[0]}`;
      return `  npm ${script} -- ${pathOf(module)}`;
    });
  return commands.length === 0 ? [] : ['to repeat what failed:', ...commands, ''];
}

/**
 * One line for each failed test, hook or file, because only the end of a long output may be kept.
 */
function failuresOf(module: TestModule): string[] {
  const tests = [...module.children.allTests()]
    .filter((test) => test.result().state === 'failed')
    .map((test) => ({ name: test.fullName, errors: test.result().errors ?? [] }));
  const suites = [...module.children.allSuites()].map((suite) => ({
    name: suite.fullName,
    errors: suite.errors(),
  }));
  const lines = [{ name: 'the file', errors: module.errors() }, ...suites, ...tests].flatMap(
    ({ name, errors: [first] }) =>
      first === undefined ? [] : [`failed: ${pathOf(module)}: ${name} (${firstLine(first)})`],
  );
  if (lines.length > 0 || hasEndedWell(module)) return lines;
  return [`failed: ${pathOf(module)}: the file (it never ended)`];
}

/** One line for each test that passed when it was repeated. */
function repetitionsOf(module: TestModule): string[] {
  return [...module.children.allTests()].flatMap((test) => {
    const { state, errors: [first] = [] } = test.result();
    if (state !== 'passed' || first === undefined) return [];
    return [`passed when repeated: ${pathOf(module)}: ${test.fullName} (${firstLine(first)})`];
  });
}

function firstLine({ message }: { readonly message: string }): string {
  return message.split('\n', 1)[0]!;
}

function hasEndedWell(module: TestModule): boolean {
  return module.state() === 'passed' || module.state() === 'skipped';
}

/** One line for each outermost skipped suite or test; the name of a suite says what it requires. */
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
