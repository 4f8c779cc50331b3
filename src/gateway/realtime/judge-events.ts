/** Has guardrails judge the texts of realtime events, and writes the texts that they change back. */
import type { GuardrailSubject, Judgement } from '../../guardrails/evaluate.ts';
import { type Guardrail, isObserving } from '../../guardrails/guardrail.ts';
import { type Passage, writeTexts } from '../../guardrails/texts/passages.ts';
import { TextsUnreadable } from '../../guardrails/texts/stored-text.ts';
import { findTextsIn } from '../../guardrails/texts/text-walk.ts';
import { run, type Slices } from '../../slices.ts';
import { judgeCall } from '../guardrails/guarded-request.ts';
import type { SessionTerms } from './session-terms.ts';

type Side = GuardrailSubject['side'];
type Members = Readonly<Record<string, unknown>>;

export interface JudgedEvents<T> {
  readonly judgement: Judgement;
  /** The events with the texts as the guardrails left them; the same ones without changes. */
  readonly events: readonly T[];
  readonly isChanged: boolean;
}

/** Events whose texts are longer together are read in turns with other work. */
const longCharsMin = 64 * 1024;
/** Members of events that are no texts. */
const frameMembers: ReadonlySet<string> = new Set(['type', 'event_id']);

/**
 * Judges the texts of these events and `others`, which are texts that belong to no event. Null when the texts cannot be
 * read: nested too deeply, or too many.
 */
export async function judgeEvents<T extends Members>(
  guardrails: readonly Guardrail[],
  side: Side,
  terms: SessionTerms,
  now: number,
  events: readonly T[],
  others: readonly string[] = [],
): Promise<JudgedEvents<T> | null> {
  const isLong = lengthOf(events) >= longCharsMin;
  const passages = await run(passagesIn(events, others), isLong);
  if (passages === null) return null;
  const subject = subjectOf(side, terms, events, passages, null);
  const judgement = await judgeCall(guardrails, subject, now);
  const texts = judgement.passages.map(({ text }) => text);
  const isChanged = passages.some(({ text }, at) => text !== texts[at]);
  if (!isChanged) return { judgement, events, isChanged };
  const own = passages.length - others.length;
  const written = await run(
    writeTexts({ events }, passages.slice(0, own), texts.slice(0, own)),
    isLong,
  );
  return { judgement, events: written.events as readonly T[], isChanged };
}

/** Judges what guardrails cannot read, such as sound; `reason` says why. */
export function judgeUnread(
  guardrails: readonly Guardrail[],
  side: Side,
  terms: SessionTerms,
  now: number,
  reason: string,
): Promise<Judgement> {
  return judgeCall(guardrails, subjectOf(side, terms, [], [], reason), now);
}

/** Whether any of them delays what it judges. */
export function hasDeciding(guardrails: readonly Guardrail[]): boolean {
  return !guardrails.every(isObserving);
}

function lengthOf(events: readonly Members[]): number {
  return events.reduce((sum, event) => sum + JSON.stringify(event).length, 0);
}

function* passagesIn(
  events: readonly Members[],
  others: readonly string[],
): Slices<Passage[] | null> {
  const found: Passage[] = [];
  try {
    for (const [at, event] of events.entries()) {
      for (const [name, value] of Object.entries(event)) {
        if (frameMembers.has(name)) continue;
        const start = { path: ['events', at, name], isFormat: true, isAnswer: true };
        yield* findTextsIn(value, start, found);
      }
    }
  } catch (thrown) {
    if (thrown instanceof TextsUnreadable) return null;
    throw thrown;
  }
  for (const text of others) found.push({ path: ['others'], text });
  return found;
}

function subjectOf(
  side: Side,
  { exchange, target, modelCalls }: SessionTerms,
  events: readonly Members[],
  passages: readonly Passage[],
  unreadable: string | null,
): GuardrailSubject {
  const { request, metadata, id, key } = exchange;
  return {
    side,
    tenant: { organisationId: key.organisationId, workspaceId: key.workspace?.id ?? null },
    modelCalls,
    endpoint: 'realtime',
    isStream: true,
    params: side === 'input' && events.length === 1 ? events[0]! : exchange.params,
    answer: side === 'input' ? null : { status: 200, json: { events } },
    passages,
    lastCount: passages.length,
    unreadable,
    metadata,
    headers: request.headers,
    provider: target.provider,
    model: target.model,
    traceId: id,
  };
}
