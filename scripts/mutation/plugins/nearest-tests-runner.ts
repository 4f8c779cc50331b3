/** Runs the test files that reach a mutant, nearest first, and records each result at once. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { MutantResult } from '@stryker-mutator/api/core';
import {
  commonTokens,
  declareClassPlugin,
  declareFactoryPlugin,
  type Injector,
  PluginKind,
} from '@stryker-mutator/api/plugin';
import type { Reporter } from '@stryker-mutator/api/report';
import {
  type CompleteDryRunResult,
  type DryRunOptions,
  type DryRunResult,
  DryRunStatus,
  type MutantRunOptions,
  type MutantRunResult,
  MutantRunStatus,
  type TestRunner,
  TestStatus,
} from '@stryker-mutator/api/test-runner';
import { strykerPlugins as vitestPlugins } from '@stryker-mutator/vitest-runner';
import { type PlacedMutant, placeOf } from '../mutants.ts';
import { readPlan, record } from '../run-plan.ts';
import { testControl } from '../test-control.ts';
import { type FileCoverage, rankTests } from '../test-order.ts';

interface MeasuredFile extends FileCoverage {
  /** Ids of its tests. */
  readonly tests: readonly string[];
}

type MeasuredFiles = Readonly<Record<string, MeasuredFile>>;

class NearestTestsRunner implements TestRunner {
  readonly #inner: TestRunner;
  readonly #plan = readPlan();
  readonly #drawn: ReadonlySet<string> = new Set(this.#plan.drawn);
  /** Null until the first mutant. */
  #files: MeasuredFiles | null = null;

  constructor(inner: TestRunner) {
    this.#inner = inner;
  }

  capabilities() {
    return this.#inner.capabilities();
  }

  async init(): Promise<void> {
    await this.#inner.init?.();
  }

  async dispose(): Promise<void> {
    await this.#inner.dispose?.();
  }

  /** Runs every test without a mutant, and leaves out the files in which one fails. */
  async dryRun(options: DryRunOptions): Promise<DryRunResult> {
    testControl().order = this.#plan.tests;
    testControl().setBail(false);
    const result = await this.#inner.dryRun(options);
    if (result.status !== DryRunStatus.Complete) return result;
    const unusable = new Map<string, string>();
    for (const test of result.tests) {
      if (test.status === TestStatus.Failed) unusable.set(fileOf(test.id), test.failureMessage);
    }
    for (const [test, reason] of unusable) {
      record(this.#plan, { kind: 'unusable', test, reason: reason.split('\n', 1)[0]! });
    }
    const usable = {
      ...result,
      tests: result.tests.filter(({ id }) => !unusable.has(fileOf(id))),
    };
    writeFileSync(this.#plan.coverage, JSON.stringify(measureFiles(usable)));
    return usable;
  }

  /** Runs whole test files, because a test may need what an earlier test of its file did. */
  async mutantRun(options: MutantRunOptions): Promise<MutantRunResult> {
    const { activeMutant, sandboxFileName, testFilter } = options;
    const file = relative(process.cwd(), sandboxFileName);
    const { location, mutatorName, replacement } = activeMutant;
    const place = placeOf(placedMutant(file, { location, mutatorName, replacement }, 0));
    if (!this.#drawn.has(place)) return withoutRun('not drawn');
    if (Date.now() > this.#plan.endsAt) return withoutRun('no time is left');
    this.#files ??= readMeasured(this.#plan.coverage);
    const { chosen, omitted } = rankTests({
      files: this.#files,
      mutant: activeMutant.id,
      direct: this.#plan.direct[file] ?? [],
      isStatic: testFilter === undefined,
      testMsMax: this.#plan.testMsMax,
    });
    if (omitted.length > 0) record(this.#plan, { kind: 'omitted', place, tests: omitted });
    testControl().order = chosen;
    testControl().setBail(true);
    const tests = chosen.flatMap((one) => this.#files![one]!.tests);
    return this.#inner.mutantRun({ ...options, testFilter: tests });
  }
}

/** StrykerJS counts a result without a run as an error of the mutant, which is in no score. */
function withoutRun(errorMessage: string): MutantRunResult {
  return { status: MutantRunStatus.Error, errorMessage };
}

function fileOf(testId: string): string {
  return testId.slice(0, testId.indexOf('#'));
}

function measureFiles({ tests, mutantCoverage }: CompleteDryRunResult): MeasuredFiles {
  const files: Record<string, { tests: string[]; ms: number; mutants: Set<string> }> = {};
  for (const { id, timeSpentMs } of tests) {
    const path = fileOf(id);
    files[path] ??= { tests: [], ms: 0, mutants: new Set() };
    files[path].tests.push(id);
    files[path].ms += timeSpentMs;
    for (const mutant of Object.keys(mutantCoverage?.perTest[id] ?? {})) {
      files[path].mutants.add(mutant);
    }
  }
  return Object.fromEntries(
    Object.entries(files).map(([path, one]) => [path, { ...one, mutants: [...one.mutants] }]),
  );
}

function readMeasured(path: string): MeasuredFiles {
  if (!existsSync(path)) throw new Error(`${path} is missing: the run without mutants failed`);
  return JSON.parse(readFileSync(path, 'utf8')) as MeasuredFiles;
}

/** StrykerJS counts lines and columns of mutants from 0, and those of results from `first`, 1. */
function placedMutant(
  file: string,
  {
    location: { start, end },
    mutatorName,
    replacement = '',
  }: Pick<MutantResult, 'location' | 'mutatorName' | 'replacement'>,
  first: 0 | 1,
): PlacedMutant {
  return {
    file,
    span: {
      line: start.line + 1 - first,
      column: start.column - first,
      endLine: end.line + 1 - first,
      endColumn: end.column - first,
    },
    mutator: mutatorName,
    replacement,
  };
}

class Journal implements Reporter {
  readonly #plan = readPlan();

  onMutantTested(result: Readonly<MutantResult>): void {
    record(this.#plan, {
      kind: 'mutant',
      place: placeOf(placedMutant(relative(process.cwd(), result.fileName), result, 1)),
      status: result.status,
      reason: result.statusReason ?? '',
      killedBy: result.killedBy ?? [],
    });
  }
}

createRunner.inject = [commonTokens.injector] as [typeof commonTokens.injector];
function createRunner(injector: Injector): TestRunner {
  return new NearestTestsRunner(injector.injectFunction(vitestPlugins[0]!.factory as never));
}

export const strykerPlugins = [
  declareFactoryPlugin(PluginKind.TestRunner, 'nearest-tests', createRunner as never),
  declareClassPlugin(PluginKind.Reporter, 'journal', Journal),
];
