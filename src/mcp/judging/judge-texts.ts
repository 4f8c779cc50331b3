/** Has guardrails judge the texts of a tool call or of its result, and applies their changes. */
import type { IncomingHttpHeaders } from 'node:http';
import { detach } from '../../detached.ts';
import type { CheckTenant } from '../../guardrails/check.ts';
import {
  evaluateGuardrails,
  type GuardrailSubject,
  type Judgement,
  verdictOf,
} from '../../guardrails/evaluate.ts';
import { type Guardrail, isObserving } from '../../guardrails/guardrail.ts';
import { type Passage, writeTexts } from '../../guardrails/texts/passages.ts';
import { TextsUnreadable } from '../../guardrails/texts/stored-text.ts';
import { addNameOf, findTextsIn, textsIn } from '../../guardrails/texts/text-walk.ts';
import { digitsOf } from '../../model/json/exact-numbers.ts';
import { isSmallJson } from '../../model/json/json-bytes.ts';
import type { GuardrailVerdict } from '../../model/logs/request-log.ts';
import { runPromptly, type Slices } from '../../slices.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';

/** The call to which the texts belong. */
export interface JudgedCall {
  readonly method: string;
  /** Null when it is unknown, as for messages on a stream of the server. */
  readonly tool: string | null;
  readonly server: string;
  readonly params: RpcObject;
  readonly headers: IncomingHttpHeaders;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly traceId: string;
  readonly now: number;
  readonly tenant: CheckTenant;
}

export interface TextVerdict {
  readonly verdict: GuardrailVerdict;
  /** Verdict by id of each guardrail. */
  readonly verdicts: Judgement['verdicts'];
  readonly checks: Judgement['checks'];
  /** The value with the texts as the checks changed them; the same object without changes. */
  readonly value: RpcObject;
  /** Texts beside the value that the checks changed. */
  readonly changesOthers: boolean;
  readonly fault: PlaneFault | null;
}

/**
 * Judges every text in these members of `value`, whatever its name, and `others`, which belong to no member.
 * Does not wait for guardrails that only observe.
 */
export async function judgeTexts(
  guardrails: readonly Guardrail[],
  call: JudgedCall,
  side: 'input' | 'output',
  value: RpcObject,
  others: readonly string[] = [],
): Promise<TextVerdict> {
  const reading = runPromptly(passagesIn(value, others));
  const passages = reading instanceof Promise ? await reading : reading;
  if (passages === null && guardrails.every(isObserving)) {
    const checks: Judgement['checks'] = [];
    return {
      verdict: 'monitored',
      verdicts: new Map(),
      checks,
      value,
      changesOthers: false,
      fault: null,
    };
  }
  if (passages === null) {
    const fault = new PlaneFault(
      'guardrail_denied',
      'The texts cannot be judged: they are nested too deeply, or too many',
    );
    return {
      verdict: 'denied',
      verdicts: new Map(),
      checks: [],
      value,
      changesOthers: false,
      fault,
    };
  }
  const subject = subjectOf(call, side, value, passages);
  const observing = guardrails.filter(({ isAsync }) => isAsync);
  if (observing.length > 0) {
    detach('an observing guardrail', evaluateGuardrails(observing, subject, call.now));
  }
  const deciding =
    observing.length === 0 ? guardrails : guardrails.filter(({ isAsync }) => !isAsync);
  const judgement = await evaluateGuardrails(deciding, subject, call.now);
  const { verdicts, checks, isDenied } = judgement;
  const verdict = verdictOf(judgement) ?? 'passed';
  const fault = isDenied ? denial(judgement.results, side) : null;
  const judged = { verdict, verdicts, checks, fault } as const;
  if (judgement.passages === passages) return { ...judged, value, changesOthers: false };
  const texts = judgement.passages.map(({ text }) => text);
  const own = passages.length - others.length;
  const changed = passages.map(({ text }, at) => text !== texts[at]);
  const isChanged = changed.slice(0, own).includes(true);
  return {
    ...judged,
    value: isChanged
      ? await runPromptly(writeTexts(value, passages.slice(0, own), texts.slice(0, own)))
      : value,
    changesOthers: changed.slice(own).includes(true),
  };
}

/** Null for a value whose texts cannot be read. */
function* passagesIn(value: RpcObject, others: readonly string[]): Slices<Passage[] | null> {
  const found: Passage[] = [];
  const isSmall = isSmallJson(value);
  try {
    for (const [name, below] of Object.entries(value)) {
      const path = [name];
      addNameOf(path, found);
      if (isSmall) textsIn(below, { path }, found);
      else yield* findTextsIn(below, { path }, found);
    }
    yield* addNumbers(value, found);
  } catch (thrown) {
    if (thrown instanceof TextsUnreadable) return null;
    throw thrown;
  }
  for (const text of others) found.push({ path: ['headers'], text });
  // Everything is the message: there is no prompt that it accompanies.
  const passages: Passage[] = [];
  for (const passage of found) {
    passages.push(passage.isAside === true ? { ...passage, isAside: false } : passage);
    if (passages.length % interruptedPassages === 0) yield;
  }
  return passages;
}

/** Passages or members between two interruptions. */
const interruptedPassages = 1_000;

/** Shorter numbers identify nobody. */
const numberCharsMin = 6;

/** A list or map whose members are searched, with the way to it. */
interface SearchedValue {
  readonly value: object;
  readonly step: string | number;
  /** Null for the outermost value. */
  readonly parent: SearchedValue | null;
}

/** A number can be a card or an account, as a text can. Paths are built for such numbers only. */
function* addNumbers(outermost: object, found: Passage[]): Slices<void> {
  const waiting: SearchedValue[] = [{ value: outermost, step: '', parent: null }];
  let count = 0;
  for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop()) {
    const value = parent.value as Readonly<Record<string | number, unknown>>;
    const names = Array.isArray(value) ? null : Object.keys(value);
    const length = names === null ? (value as unknown as unknown[]).length : names.length;
    for (let at = 0; at < length; at += 1) {
      count += 1;
      if (count % interruptedPassages === 0) yield;
      const step = names === null ? at : names[at]!;
      const below = value[step];
      if (typeof below === 'number') addNumber(String(below), { value, step, parent }, found);
      else if (typeof below === 'object' && below !== null) {
        const digits = digitsOf(below);
        if (digits === null) waiting.push({ value: below, step, parent });
        else {
          // Another form of the number could hide what a check searches for, or show it.
          addNumber(digits, { value, step, parent }, found);
          addNumber(String(Number(digits)), { value, step, parent }, found);
        }
      }
    }
  }
}

function addNumber(text: string, place: SearchedValue, found: Passage[]): void {
  if (text.length < numberCharsMin) return;
  const path: (string | number)[] = [];
  for (let at: SearchedValue = place; at.parent !== null; at = at.parent) path.unshift(at.step);
  found.push({ path, text });
}

function subjectOf(
  call: JudgedCall,
  side: 'input' | 'output',
  value: RpcObject,
  passages: readonly Passage[],
): GuardrailSubject {
  const { method, tool, server, params, headers, metadata, traceId, tenant } = call;
  return {
    side,
    tenant,
    endpoint: method,
    isStream: false,
    params,
    answer: side === 'input' ? null : { status: 200, json: value },
    passages,
    lastCount: passages.length,
    unreadable: null,
    metadata,
    headers,
    provider: server,
    model: tool,
    traceId,
  };
}

/** Names the guardrails, and nothing of what they judged. */
function denial(
  results: readonly { readonly id: string; readonly deny: boolean }[],
  side: 'input' | 'output',
): PlaneFault {
  const guardrails = results.filter(({ deny }) => deny).map(({ id }) => id);
  const what = side === 'input' ? 'this call' : 'the result of this call';
  const message = `A guardrail rejected ${what}: ${guardrails.join(', ')}`;
  return new PlaneFault('guardrail_denied', message, { data: { guardrails, side } });
}
