/** Has guardrails judge the texts of a tool call or of its result, and applies their changes. */
import type { IncomingHttpHeaders } from 'node:http';
import { detach } from '../../detached.ts';
import {
  evaluateGuardrails,
  type GuardrailSubject,
  type Judgement,
  verdictOf,
} from '../../guardrails/evaluate.ts';
import type { Guardrail } from '../../guardrails/guardrail.ts';
import { type Passage, writeTexts } from '../../guardrails/passages.ts';
import { addNameOf, findTextsIn, TextsUnreadable } from '../../guardrails/text-walk.ts';
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
  try {
    for (const [name, below] of Object.entries(value)) {
      addNameOf([name], found);
      yield* findTextsIn(below, { path: [name] }, found);
    }
    yield* addNumbers(value, [], found);
  } catch (thrown) {
    if (thrown instanceof TextsUnreadable) return null;
    throw thrown;
  }
  for (const text of others) found.push({ path: ['headers'], text });
  // Everything is the message: there is no prompt that it accompanies.
  const passages: Passage[] = [];
  for (const passage of found) {
    passages.push({ ...passage, isAside: false });
    if (passages.length % interruptedPassages === 0) yield;
  }
  return passages;
}

/** Passages or members between two interruptions. */
const interruptedPassages = 1_000;

/** Shorter numbers identify nobody. */
const numberCharsMin = 6;

/** A number can be a card or an account, as a text can. */
function* addNumbers(
  value: unknown,
  path: readonly (string | number)[],
  found: Passage[],
): Slices<void> {
  if (typeof value === 'number' && String(value).length >= numberCharsMin) {
    found.push({ path, text: String(value) });
  }
  if (typeof value !== 'object' || value === null) return;
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  for (const [at, [step, below]] of entries.entries()) {
    if (at % interruptedPassages === interruptedPassages - 1) yield;
    const isSearched = typeof below === 'number' || (typeof below === 'object' && below !== null);
    if (isSearched) yield* addNumbers(below, [...path, step], found);
  }
}

function subjectOf(
  call: JudgedCall,
  side: 'input' | 'output',
  value: RpcObject,
  passages: readonly Passage[],
): GuardrailSubject {
  const { method, tool, server, params, headers, metadata, traceId } = call;
  return {
    side,
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
