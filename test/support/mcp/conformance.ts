/** Runs a requirement set of the MCP conformance suite against a server, and compares the verdicts of two runs. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export type Revision = '2025-11-25' | '2026-07-28';

export interface ScenarioVerdict {
  /** Whether the revision requires the scenario; others are run for comparison only. */
  readonly isRequired: boolean;
  /** Whether no check has failed; a warning is no failure. */
  readonly isPassed: boolean;
  /**
   * Status of each check by its id, in order. An id that occurs again has its number appended:
   * `sep-2243-server-reject-invalid-headers 2`.
   */
  readonly checks: Readonly<Record<string, string>>;
  /** Messages of failed checks and warnings, for reports. */
  readonly messages: readonly string[];
}

/** Verdicts by the name of the scenario. */
export type ConformanceRun = ReadonlyMap<string, ScenarioVerdict>;

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

interface Requirements {
  readonly server: readonly string[];
}

const program = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'),
);
/** `server-tools-list-2026-11-28T10-30-46-297Z` */
const folderPattern = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/;
/** For one scenario; its default of 30 s only delays the report of a server that does not answer. */
const scenarioTimeoutMs = 10_000;

/**
 * The suite accepts no headers: a server that requires a credential is called through a `HeaderShim`.
 *
 * @throws Error with the output of the suite when a required scenario has no verdict
 */
export async function runConformance(url: string, revision: Revision): Promise<ConformanceRun> {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-conformance-'));
  try {
    const output = await runProgram({
      '--url': url,
      '--requirements': revision,
      '--timeout': String(scenarioTimeoutMs),
      '--output-dir': folder,
    });
    const run = readRun(folder, revision);
    const missing = requiredScenarios(revision).filter((name) => !run.has(name));
    if (missing.length === 0) return run;
    throw new Error(`the conformance suite has not run ${missing.join(', ')}:\n${output}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Scenarios for servers that the revision requires. */
export function requiredScenarios(revision: Revision): readonly string[] {
  const path = resolve(program, `../../requirements/${revision}.yaml`);
  return (parse(readFileSync(path, 'utf8')) as Requirements).server;
}

/** Required scenarios that passed, in order. */
export function passedScenarios(run: ConformanceRun): string[] {
  return [...run].flatMap(([name, { isRequired, isPassed }]) =>
    isRequired && isPassed ? [name] : [],
  );
}

/** One line for each failed check and warning of the scenarios that `isWanted` selects. */
export function faultsOf(
  run: ConformanceRun,
  isWanted: (name: string, verdict: ScenarioVerdict) => boolean,
): string[] {
  return [...run].flatMap(([name, verdict]) =>
    isWanted(name, verdict) ? verdict.messages.map((message) => `${name}: ${message}`) : [],
  );
}

/** One line for each check whose verdict differs, unscored scenarios included; none for equal runs. */
export function differencesOf(before: ConformanceRun, after: ConformanceRun): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const one = before.get(name)?.checks ?? {};
    const other = after.get(name)?.checks ?? {};
    return [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((id) =>
      one[id] === other[id]
        ? []
        : [`${name} ${id}: ${one[id] ?? 'no verdict'} became ${other[id] ?? 'no verdict'}`],
    );
  });
}

function runProgram(options: Readonly<Record<string, string>>): Promise<string> {
  const { promise, resolve: end } = Promise.withResolvers<string>();
  // The exit code says whether all required scenarios passed, which the verdicts say too.
  const words = [program, 'server', ...Object.entries(options).flat()];
  execFile(process.execPath, words, { maxBuffer: 2 ** 26 }, (_, stdout, stderr) =>
    end(stdout + stderr),
  );
  return promise;
}

function readRun(folder: string, revision: Revision): ConformanceRun {
  const required = requiredScenarios(revision);
  const verdicts = new Map<string, ScenarioVerdict>();
  for (const entry of readdirSync(folder)) {
    const [, name] = folderPattern.exec(entry) ?? [];
    if (name === undefined) continue;
    const checks = readChecks(join(folder, entry, 'checks.json')) ?? [crashOf(name)];
    verdicts.set(name, verdictOf(checks, required.includes(name)));
  }
  // In the order of the revision, because folders are listed by name.
  const order = [...required, ...[...verdicts.keys()].filter((name) => !required.includes(name))];
  return new Map(
    order.flatMap((name) => {
      const verdict = verdicts.get(name);
      return verdict === undefined ? [] : [[name, verdict] as const];
    }),
  );
}

/** Null for a scenario that threw, for which the suite writes no file. */
function readChecks(path: string): readonly Check[] | null {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Check[]) : null;
}

function crashOf(id: string): Check {
  return { id, status: 'FAILURE', errorMessage: 'the scenario has thrown' };
}

function verdictOf(list: readonly Check[], isRequired: boolean): ScenarioVerdict {
  const counts = new Map<string, number>();
  const checks: Record<string, string> = {};
  for (const { id, status } of list) {
    const count = (counts.get(id) ?? 0) + 1;
    counts.set(id, count);
    checks[count === 1 ? id : `${id} ${count}`] = status;
  }
  const messages = list
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ id, status, errorMessage = '' }) => `${id}: ${status}: ${errorMessage}`);
  const isPassed = list.every(({ status }) => status !== 'FAILURE');
  return { isRequired, isPassed, checks, messages };
}
