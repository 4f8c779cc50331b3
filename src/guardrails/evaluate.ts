/** Evaluates guardrails on a request or a response and builds the results that callers see. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { type GuardrailVerdict, guardrailVerdicts } from '../model/logs/request-log.ts';
import {
  CheckError,
  type CheckOutcome,
  type CheckSubject,
  isLongSubject,
  joinInTurns,
  NothingToJudge,
} from './check.ts';
import type { Check, Guardrail, GuardrailFeedback } from './guardrail.ts';
import type { Passage } from './passages.ts';

/** Result of one check, as returned to callers. */
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

/** Result of one guardrail, as returned to callers. */
export interface HookResult {
  readonly id: string;
  readonly type: 'guardrail';
  readonly verdict: boolean;
  readonly checks: readonly CheckResult[];
  readonly feedback: object;
  readonly transformed: boolean;
  readonly execution_time: number;
  readonly async: boolean;
  /** Whether the guardrail rejects the request: it denies and has failed. */
  readonly deny: boolean;
  readonly created_at: string;
}

/** The combined result of all guardrails. */
export interface Judgement {
  readonly results: readonly HookResult[];
  readonly passes: boolean;
  readonly isDenied: boolean;
  /** By id of each saved guardrail. */
  readonly verdicts: ReadonlyMap<string, GuardrailVerdict>;
  /** The passages after all replacements by checks. */
  readonly passages: readonly Passage[];
}

/** The checked request or response. A guardrail sees the last message or all messages. */
export interface GuardrailSubject extends Omit<CheckSubject, 'passages'> {
  readonly passages: readonly Passage[];
  /** Number of passages at the end that belong to the last message. */
  readonly lastCount: number;
}

/**
 * Evaluates the guardrails one after the other, so each sees the replacements of the previous ones. `now`
 * in milliseconds since the epoch.
 */
export async function evaluateGuardrails(
  guardrails: readonly Guardrail[],
  subject: GuardrailSubject,
  now: number,
): Promise<Judgement> {
  const results: HookResult[] = [];
  const verdicts = new Map<string, GuardrailVerdict>();
  let { passages } = subject;
  for (const guardrail of guardrails) {
    const from = guardrail.scansAll ? 0 : passages.length - subject.lastCount;
    const scanned = { ...subject, passages: passages.slice(from) };
    const { result, passages: remaining } = await evaluateOne(guardrail, scanned, now);
    results.push(result);
    if (guardrail.savedId !== null) verdicts.set(guardrail.savedId, verdictOf(result));
    passages = [...passages.slice(0, from), ...remaining];
  }
  return {
    results,
    verdicts,
    passages,
    passes: results.every(({ verdict, async: isAsync }) => verdict || isAsync),
    isDenied: results.some(({ deny }) => deny),
  };
}

function verdictOf({ verdict, deny }: HookResult): GuardrailVerdict {
  return verdict ? 'passed' : deny ? 'denied' : 'failed';
}

/** Combines the verdicts of two judgements; of two by one guardrail the worse remains. */
export function worstOf(
  one: Judgement['verdicts'],
  other: Judgement['verdicts'],
): Judgement['verdicts'] {
  const all = new Map(one);
  for (const [id, verdict] of other) {
    const known = all.get(id) ?? verdict;
    all.set(id, guardrailVerdicts.findLast((each) => each === known || each === verdict)!);
  }
  return all;
}

async function evaluateOne(
  guardrail: Guardrail,
  subject: CheckSubject,
  now: number,
): Promise<{ readonly result: HookResult; readonly passages: readonly Passage[] }> {
  const began = performance.now();
  const { id, checks, isAsync, isSequential } = guardrail;
  const run = isSequential ? runSequentially : runConcurrently;
  const { checked, passages } = await run(checks, subject, now);
  const results = checked.map(({ result }) => result);
  const verdict = checked.every((one) => hasPassed(guardrail, one));
  const feedback = verdict ? guardrail.feedback.success : guardrail.feedback.failure;
  const result: HookResult = {
    id,
    type: 'guardrail',
    verdict,
    checks: results,
    async: isAsync,
    feedback: { ...feedback, metadata: metadataOf(feedback, results) },
    transformed: results.some(({ transformed }) => transformed),
    execution_time: elapsedMs(began),
    deny: guardrail.denies && !verdict,
    created_at: isoTime(now),
  };
  return { result, passages };
}

/** Without an explicit setting, a guardrail that denies also denies what its checks cannot judge. */
function hasPassed(
  { failsClosed, denies, passesUnjudged }: Guardrail,
  one: CheckedResult,
): boolean {
  const { result, failsOnError, isNothing } = one;
  if (result.error === undefined) return result.verdict;
  if (failsClosed) return false;
  return !(failsOnError ?? (denies && !passesUnjudged && !isNothing));
}

interface CheckedResult extends Pick<Check, 'failsOnError'> {
  readonly result: CheckResult;
  readonly texts: CheckOutcome['texts'];
  /** Whether there was nothing to judge. */
  readonly isNothing: boolean;
}

interface Run {
  readonly checked: readonly CheckedResult[];
  readonly passages: readonly Passage[];
}

async function runConcurrently(
  checks: readonly Check[],
  subject: CheckSubject,
  now: number,
): Promise<Run> {
  const isLong = isLongSubject(subject);
  if (isLong) await joinInTurns(subject);
  const running: Promise<CheckedResult>[] = [];
  for (const check of checks) {
    if (isLong) await nextTurn();
    running.push(runCheck(check, subject, now));
  }
  const checked = await Promise.all(running);
  return { checked, passages: subject.passages };
}

async function runSequentially(
  checks: readonly Check[],
  subject: CheckSubject,
  now: number,
): Promise<Run> {
  const checked: CheckedResult[] = [];
  let { passages } = subject;
  const isLong = isLongSubject(subject);
  for (const check of checks) {
    const current = { ...subject, passages };
    if (isLong) await joinInTurns(current);
    const one = await runCheck(check, current, now);
    const { texts } = one;
    checked.push(one);
    if (texts !== undefined) {
      passages = passages.map((passage, at) => ({ ...passage, text: texts[at]! }));
    }
  }
  return { checked, passages };
}

async function runCheck(
  { id, run: judgeBy, failsOnError, judgesText }: Check,
  subject: CheckSubject,
  now: number,
): Promise<CheckedResult> {
  const began = performance.now();
  const times = (): Pick<CheckResult, 'execution_time' | 'created_at' | 'fail_on_error'> => ({
    execution_time: elapsedMs(began),
    created_at: isoTime(now),
    fail_on_error: failsOnError === true,
  });
  try {
    if (judgesText && subject.unreadable !== null) throw new CheckError(subject.unreadable);
    const { passes, explanation, texts, data } = await judgeBy(subject);
    const details = data === undefined ? { explanation } : { explanation, data };
    const transformed = texts !== undefined;
    const result = { id, verdict: passes, data: details, transformed, ...times() };
    return { result, texts, failsOnError, isNothing: false };
  } catch (thrown) {
    // Messages of other errors can contain the checked text.
    const message = thrown instanceof CheckError ? thrown.message : 'the check could not run';
    const error = { name: 'CheckError', message };
    const result = { id, verdict: false, error, data: null, transformed: false, ...times() };
    const isNothing = thrown instanceof NothingToJudge;
    return { result, texts: undefined, failsOnError, isNothing };
  }
}

/** Lists the names of the checks by result, in the format that feedback readers expect. */
function metadataOf(feedback: GuardrailFeedback, results: readonly CheckResult[]): object {
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

let lastTime = { ms: 0, text: new Date(0).toISOString() };

/** Results of one request have one time, and formatting it costs as much as a short check. */
function isoTime(now: number): string {
  if (lastTime.ms !== now) lastTime = { ms: now, text: new Date(now).toISOString() };
  return lastTime.text;
}

function elapsedMs(began: number): number {
  return Math.round(performance.now() - began);
}
