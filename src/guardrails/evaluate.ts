/** Evaluates guardrails on a request or a response and builds the results that callers see. */

import {
  type GuardrailVerdict,
  type LoggedCheck,
  worseVerdict,
} from '../model/logs/request-log.ts';
import { nextTurn } from '../slices.ts';
import {
  CheckError,
  type CheckOutcome,
  type CheckSubject,
  isLongSubject,
  joinInTurns,
  type MemberChange,
  NothingToJudge,
} from './check.ts';
import type { Check, Guardrail, GuardrailFeedback } from './guardrail.ts';
import type { Passage } from './texts/passages.ts';
import type { TextEdits } from './texts/windowed-text.ts';

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
  /** `monitor` for a guardrail whose verdict changes nothing; absent otherwise. */
  readonly mode?: 'monitor';
  /** With mode `monitor`: whether the guardrail would have rejected the request. */
  readonly would_deny?: boolean;
}

/** The combined result of all guardrails. */
export interface Judgement {
  readonly results: readonly HookResult[];
  readonly passes: boolean;
  readonly isDenied: boolean;
  /** By id of each saved guardrail. */
  readonly verdicts: ReadonlyMap<string, GuardrailVerdict>;
  /** One for each check that judged. */
  readonly checks: readonly LoggedCheck[];
  /** The passages after all replacements by checks. */
  readonly passages: readonly Passage[];
  /** For each check that replaced texts, the ranges in each passage; null where the check does not tell. */
  readonly stages: readonly (readonly TextEdits[] | null)[];
  /** Further changes of the request, to be applied after the texts. */
  readonly members: readonly MemberChange[];
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
  const checks: LoggedCheck[] = [];
  const members: MemberChange[] = [];
  const stages: (readonly TextEdits[] | null)[] = [];
  let { passages } = subject;
  for (const guardrail of guardrails) {
    const from = guardrail.scansAll ? 0 : passages.length - subject.lastCount;
    // Checks of several guardrails share the joined texts of one list.
    const isWhole = from === 0 && passages === subject.passages;
    const scanned = isWhole ? subject : scannedOf(subject, passages, from);
    const evaluating = evaluateOne(guardrail, scanned, now);
    const evaluated = evaluating instanceof Promise ? await evaluating : evaluating;
    const { result, passages: remaining } = evaluated;
    results.push(result);
    for (const one of evaluated.checked) checks.push(loggedCheck(guardrail, one, subject.side));
    if (guardrail.savedId !== null) verdicts.set(guardrail.savedId, guardrailVerdict(result));
    if (guardrail.isMonitor) continue;
    stages.push(...stagesOf(evaluated.checked));
    members.push(...evaluated.checked.flatMap((one) => one.members ?? []));
    passages = from === 0 ? remaining : [...passages.slice(0, from), ...remaining];
  }
  return {
    results,
    verdicts,
    checks,
    passages,
    stages,
    members,
    passes: results.every(({ verdict, mode, async: isAsync }) => {
      return verdict || isAsync || mode === 'monitor';
    }),
    isDenied: results.some(({ deny }) => deny),
  };
}

function stagesOf(checked: readonly CheckedResult[]): (readonly TextEdits[] | null)[] {
  return checked.flatMap(({ texts, edits }) => (texts === undefined ? [] : [edits ?? null]));
}

/** The verdict of one guardrail as the log contains it. */
function guardrailVerdict({
  verdict,
  deny,
  mode,
}: Pick<HookResult, 'verdict' | 'deny' | 'mode'>): GuardrailVerdict {
  if (verdict) return 'passed';
  if (mode === 'monitor') return 'monitored';
  return deny ? 'denied' : 'failed';
}

/** The worst verdict of all guardrails; null when none judged. */
export function verdictOf(...judgements: readonly Pick<Judgement, 'results'>[]) {
  return judgements
    .flatMap(({ results }) => results.map(guardrailVerdict))
    .reduce<GuardrailVerdict | null>(worseVerdict, null);
}

function loggedCheck(
  { id, savedId, isMonitor }: Guardrail,
  { result, isNothing }: CheckedResult,
  side: CheckSubject['side'],
): LoggedCheck {
  const judged = result.verdict ? 'passed' : 'failed';
  const unjudged = isNothing ? 'skipped' : 'unjudged';
  return {
    guardrail: savedId ?? id,
    check: result.id,
    side,
    verdict: result.error === undefined ? judged : unjudged,
    is_monitored: isMonitor,
    duration_ms: result.execution_time,
  };
}

/** The subject with the passages from an index on; those before them stay its conversation. */
function scannedOf(
  subject: GuardrailSubject,
  passages: readonly Passage[],
  from: number,
): CheckSubject {
  if (from === 0) return { ...subject, passages };
  return { ...subject, passages: passages.slice(from), conversation: passages };
}

/** Combines the verdicts of two judgements; of two by one guardrail the worse remains. */
export function worstOf(
  one: Judgement['verdicts'],
  other: Judgement['verdicts'],
): Judgement['verdicts'] {
  const isSame = [...other].every(([id, verdict]) => one.get(id) === verdict);
  if (isSame) return one;
  const all = new Map(one);
  for (const [id, verdict] of other) {
    all.set(id, worseVerdict(all.get(id) ?? null, verdict)!);
  }
  return all;
}

interface GuardrailEvaluation extends Pick<Run, 'checked'> {
  readonly result: HookResult;
  readonly passages: readonly Passage[];
}

/** Synchronous when no check waits. */
function evaluateOne(
  guardrail: Guardrail,
  subject: CheckSubject,
  now: number,
): GuardrailEvaluation | Promise<GuardrailEvaluation> {
  const began = performance.now();
  const run = guardrail.isSequential ? runSequentially : runConcurrently;
  const running = run(guardrail.checks, subject, now);
  return running instanceof Promise
    ? running.then((ended) => evaluatedOf(guardrail, ended, now, began))
    : evaluatedOf(guardrail, running, now, began);
}

function evaluatedOf(
  guardrail: Guardrail,
  { checked, passages }: Run,
  now: number,
  began: number,
): GuardrailEvaluation {
  const { id, isAsync, isMonitor } = guardrail;
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
    transformed: !isMonitor && results.some(({ transformed }) => transformed),
    execution_time: elapsedMs(began),
    deny: guardrail.denies && !isMonitor && !verdict,
    created_at: isoTime(now),
    ...(isMonitor ? { mode: 'monitor', would_deny: guardrail.denies && !verdict } : {}),
  };
  return { result, passages, checked };
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
  readonly edits?: CheckOutcome['edits'];
  readonly members?: CheckOutcome['members'];
  /** Whether there was nothing to judge. */
  readonly isNothing: boolean;
}

interface Run {
  readonly checked: readonly CheckedResult[];
  readonly passages: readonly Passage[];
}

function runConcurrently(
  checks: readonly Check[],
  subject: CheckSubject,
  now: number,
): Run | Promise<Run> {
  if (isLongSubject(subject)) return runInTurns(checks, subject, now);
  const { passages } = subject;
  const running = checks.map((check) => runCheck(check, subject, now));
  if (running.every(isDone)) return { checked: running, passages };
  return Promise.all(running).then((checked) => ({ checked, passages }));
}

function isDone(one: CheckedResult | Promise<CheckedResult>): one is CheckedResult {
  return !(one instanceof Promise);
}

async function runInTurns(
  checks: readonly Check[],
  subject: CheckSubject,
  now: number,
): Promise<Run> {
  await joinInTurns(subject);
  const running: (CheckedResult | Promise<CheckedResult>)[] = [];
  for (const check of checks) {
    await nextTurn();
    running.push(runCheck(check, subject, now));
  }
  return { checked: await Promise.all(running), passages: subject.passages };
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

/** Synchronous when the check does not wait. */
function runCheck(
  check: Check,
  subject: CheckSubject,
  now: number,
): CheckedResult | Promise<CheckedResult> {
  const began = performance.now();
  const times = (): CheckTimes => ({
    execution_time: elapsedMs(began),
    created_at: isoTime(now),
    fail_on_error: check.failsOnError === true,
  });
  const failed = (thrown: unknown): CheckedResult => failedResult(check, thrown, times());
  try {
    const { unreadable } = subject;
    if (check.judgesText && unreadable !== null) throw new CheckError(unreadable);
    const judging = check.run(subject);
    if (!(judging instanceof Promise)) return judgedResult(check, judging, times());
    return judging.then((outcome) => judgedResult(check, outcome, times())).catch(failed);
  } catch (thrown) {
    return failed(thrown);
  }
}

type CheckTimes = Pick<CheckResult, 'execution_time' | 'created_at' | 'fail_on_error'>;

function judgedResult(
  { id, failsOnError }: Check,
  { passes, explanation, texts, edits, members, data }: CheckOutcome,
  times: CheckTimes,
): CheckedResult {
  const details = data === undefined ? { explanation } : { explanation, data };
  const result = {
    id,
    verdict: passes,
    data: details,
    transformed: texts !== undefined || members !== undefined,
    ...times,
  };
  return { result, texts, edits, members, failsOnError, isNothing: false };
}

function failedResult(
  { id, failsOnError }: Check,
  thrown: unknown,
  times: CheckTimes,
): CheckedResult {
  // Messages of other errors can contain the checked text.
  const message = thrown instanceof CheckError ? thrown.message : 'the check could not run';
  const error = { name: 'CheckError', message };
  const result = { id, verdict: false, error, data: null, transformed: false, ...times };
  const isNothing = thrown instanceof NothingToJudge;
  return { result, texts: undefined, failsOnError, isNothing };
}

/** Lists the names of the checks by result, in the format that feedback readers expect. */
function metadataOf(feedback: GuardrailFeedback, results: readonly CheckResult[]): object {
  const lists = { successfulChecks: '', failedChecks: '', erroredChecks: '' };
  for (const { id, verdict, error } of results) {
    const isFailed = error === undefined && !verdict;
    const list = verdict ? 'successfulChecks' : isFailed ? 'failedChecks' : 'erroredChecks';
    lists[list] += lists[list] === '' ? id : `, ${id}`;
  }
  return feedback.metadata === '' ? lists : { metadata: feedback.metadata, ...lists };
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
