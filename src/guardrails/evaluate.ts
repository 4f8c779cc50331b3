/** Knows how guardrails judge a request or an answer, and what is told of it. */
import { CheckError, type Outcome, type Subject } from './check.ts';
import type { Check, Feedback, Guardrail } from './guardrail.ts';
import type { Passage } from './passages.ts';

/** Of one check, as callers read it. */
interface CheckResult {
  readonly id: string;
  readonly verdict: boolean;
  readonly error?: { readonly name: string; readonly message: string };
  readonly data: unknown;
  readonly transformed: boolean;
  /** In milliseconds. */
  readonly execution_time: number;
  readonly created_at: string;
  readonly fail_on_error: boolean;
}

/** Of one guardrail, as callers read it. */
export interface HookResult {
  readonly id: string;
  readonly type: 'guardrail';
  readonly verdict: boolean;
  readonly checks: readonly CheckResult[];
  readonly feedback: object;
  readonly transformed: boolean;
  readonly execution_time: number;
  readonly async: boolean;
  /** Whether it refuses, not whether it would. */
  readonly deny: boolean;
  readonly created_at: string;
}

/** What all of them together say. */
export interface Judgement {
  readonly results: readonly HookResult[];
  readonly passes: boolean;
  readonly isDenied: boolean;
  /** With the texts that checks put in place of others. */
  readonly passages: readonly Passage[];
}

/** What is judged: a guardrail sees the last passages, or all of them. */
export interface Judged extends Omit<Subject, 'passages'> {
  readonly passages: readonly Passage[];
  /** How many at the end are those of the last message. */
  readonly lastCount: number;
}

/**
 * One guardrail after the other, so that what one takes out of a text the next does not see. `now` in
 * ms since the epoch.
 */
export async function judge(
  guardrails: readonly Guardrail[],
  judged: Judged,
  now: number,
): Promise<Judgement> {
  const results: HookResult[] = [];
  let { passages } = judged;
  for (const guardrail of guardrails) {
    const from = guardrail.scansAll ? 0 : passages.length - judged.lastCount;
    const subject = { ...judged, passages: passages.slice(from) };
    const { result, passages: left } = await judgeOne(guardrail, subject, now);
    results.push(result);
    passages = [...passages.slice(0, from), ...left];
  }
  return {
    ...{ results, passages },
    passes: results.every(({ verdict, async: isAsync }) => verdict || isAsync),
    isDenied: results.some(({ deny }) => deny),
  };
}

async function judgeOne(
  guardrail: Guardrail,
  subject: Subject,
  now: number,
): Promise<{ readonly result: HookResult; readonly passages: readonly Passage[] }> {
  const began = performance.now();
  const { id, checks, isAsync, isSequential, failsClosed } = guardrail;
  const run = isSequential ? oneByOne : together;
  const { results, passages } = await run(checks, subject, now);
  const verdict = results.every(
    (result) =>
      result.verdict || (result.error !== undefined && !failsClosed && !result.fail_on_error),
  );
  const feedback = verdict ? guardrail.feedback.success : guardrail.feedback.failure;
  const result: HookResult = {
    ...{ id, type: 'guardrail', verdict, checks: results, async: isAsync },
    feedback: { ...feedback, metadata: metadataOf(feedback, results) },
    transformed: results.some(({ transformed }) => transformed),
    execution_time: elapsedMs(began),
    deny: guardrail.denies && !verdict,
    created_at: new Date(now).toISOString(),
  };
  return { result, passages };
}

interface Run {
  readonly results: readonly CheckResult[];
  readonly passages: readonly Passage[];
}

async function together(checks: readonly Check[], subject: Subject, now: number): Promise<Run> {
  const results = await Promise.all(checks.map((check) => runCheck(check, subject, now)));
  return { results: results.map(({ result }) => result), passages: subject.passages };
}

async function oneByOne(checks: readonly Check[], subject: Subject, now: number): Promise<Run> {
  const results: CheckResult[] = [];
  let { passages } = subject;
  for (const check of checks) {
    const { result, texts } = await runCheck(check, { ...subject, passages }, now);
    results.push(result);
    if (texts !== undefined) {
      passages = passages.map(({ path }, at) => ({ path, text: texts[at]! }));
    }
  }
  return { results, passages };
}

async function runCheck(
  { id, judge: judgeBy, failsOnError }: Check,
  subject: Subject,
  now: number,
): Promise<{ readonly result: CheckResult; readonly texts: Outcome['texts'] }> {
  const began = performance.now();
  const told = (): Pick<CheckResult, 'execution_time' | 'created_at' | 'fail_on_error'> => ({
    execution_time: elapsedMs(began),
    created_at: new Date(now).toISOString(),
    fail_on_error: failsOnError,
  });
  try {
    const { passes, explanation, texts, data } = await judgeBy(subject);
    const said = data === undefined ? { explanation } : { explanation, data };
    const transformed = texts !== undefined;
    return { result: { id, verdict: passes, data: said, transformed, ...told() }, texts };
  } catch (thrown) {
    // Nothing of what was judged, which errors of libraries may hold.
    const message = thrown instanceof CheckError ? thrown.message : 'it could not be run';
    const error = { name: 'CheckError', message };
    const result = { id, verdict: false, error, data: null, transformed: false, ...told() };
    return { result, texts: undefined };
  }
}

/** Names of the checks by how they went, as those who read feedback expect them. */
function metadataOf(feedback: Feedback, results: readonly CheckResult[]): object {
  const listed = (which: (result: CheckResult) => boolean): string =>
    results
      .filter(which)
      .map(({ id }) => id)
      .join(', ');
  return {
    ...(feedback.metadata === '' ? {} : { metadata: feedback.metadata }),
    successfulChecks: listed(({ verdict }) => verdict),
    failedChecks: listed(({ verdict, error }) => !verdict && error === undefined),
    erroredChecks: listed(({ error }) => error !== undefined),
  };
}

function elapsedMs(began: number): number {
  return Math.round(performance.now() - began);
}
