/** Defines the plan of one StrykerJS run, which the driver writes and the plug-ins read. */
import { appendFileSync, readFileSync } from 'node:fs';

/** Environment variable with the path of the plan. */
export const planVariable = 'GATEWRIGHT_MUTATION_PLAN';

export interface RunPlan {
  /** Places of the drawn mutants; StrykerJS also creates those inside of a drawn one. */
  readonly drawn: readonly string[];
  /** Test files that may run. */
  readonly tests: readonly string[];
  /** Test files by source file that import it or have its name; these run first. */
  readonly direct: Readonly<Record<string, readonly string[]>>;
  /** Milliseconds of tests, as measured without a mutant, that one mutant may run. */
  readonly testMsMax: number;
  /** Milliseconds since 1970 after which no further mutant runs. */
  readonly endsAt: number;
  /** File to which the plug-ins append lines. */
  readonly journal: string;
  /** File in which the runner stores which tests reach which mutants. */
  readonly coverage: string;
}

export function readPlan(): RunPlan {
  const path = process.env[planVariable];
  if (path === undefined) throw new Error(`${planVariable} is not set`);
  return JSON.parse(readFileSync(path, 'utf8')) as RunPlan;
}

/** A line of the journal, in JSON. */
export type JournalLine =
  | MutantLine
  | { readonly kind: 'omitted'; readonly place: string; readonly tests: readonly string[] }
  /** A test file that fails without a mutant, and therefore takes no part. */
  | { readonly kind: 'unusable'; readonly test: string; readonly reason: string };

export interface MutantLine {
  readonly kind: 'mutant';
  readonly place: string;
  /** Status of StrykerJS: Killed, Survived, NoCoverage, Timeout, RuntimeError, Ignored. */
  readonly status: string;
  readonly reason: string;
  /** The tests that failed. */
  readonly killedBy: readonly string[];
}

/** Appends at once, so that a run which is stopped keeps what it has found. */
export function record({ journal }: RunPlan, line: JournalLine): void {
  appendFileSync(journal, `${JSON.stringify(line)}\n`);
}
