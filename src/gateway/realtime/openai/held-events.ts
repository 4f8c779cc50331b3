/** Holds the events of responses until guardrails have judged all of them. */
import type { Judgement } from '../../../guardrails/evaluate.ts';
import { type Guardrail, isObserving } from '../../../guardrails/guardrail.ts';
import {
  objectIn,
  providerEvents,
  type RealtimeEvent,
  textIn,
} from '../../../model/realtime/openai-events.ts';
import { hasDeciding, judgeEvents, judgeUnread } from '../judge-events.ts';
import type { SessionTerms } from '../session-terms.ts';

/** Events of a response of five minutes with sound take about 20 MB. */
const heldBytesMax = 32 * 1024 * 1024;

interface HeldEvent {
  readonly event: RealtimeEvent;
  readonly data: Buffer;
}

/** The events that are passed to the caller after their judgement. */
export interface Release {
  readonly judgement: Judgement | null;
  readonly isDenied: boolean;
  readonly messages: readonly (Buffer | string)[];
}

export class HeldEvents {
  #held: HeldEvent[] = [];
  #bytes = 0;
  #isOverflown = false;

  get isEmpty(): boolean {
    return this.#held.length === 0 && !this.#isOverflown;
  }

  /** False when the events have become too many, from which on they are only counted. */
  add(event: RealtimeEvent, data: Buffer): boolean {
    this.#bytes += data.length;
    if (this.#isOverflown) return true;
    if (this.#bytes <= heldBytesMax) {
      this.#held.push({ event, data });
      return true;
    }
    this.#isOverflown = true;
    this.#held = [];
    return false;
  }

  /** Judges everything that is held, and holds nothing afterwards. */
  async judge(
    guardrails: readonly Guardrail[],
    terms: SessionTerms,
    now: number,
  ): Promise<Release> {
    const held = this.#held;
    const isOverflown = this.#isOverflown;
    this.#held = [];
    this.#bytes = 0;
    this.#isOverflown = false;
    if (isOverflown) return { judgement: null, isDenied: true, messages: [] };
    const whole = held.filter(({ event }) => isWhole(event));
    const events = whole.map(({ event }) => event);
    const judged = await judgeEvents(guardrails, 'output', terms, now, events, joinedPieces(held));
    if (judged === null) {
      const isDenied = guardrails.some((one) => !isObserving(one) && !one.passesUnjudged);
      return { judgement: null, isDenied, messages: isDenied ? [] : held.map(({ data }) => data) };
    }
    const { judgement, isChanged } = judged;
    if (judgement.isDenied) return { judgement, isDenied: true, messages: [] };
    if (hasUnwrittenSound(held)) {
      const reason = 'the sound has no transcript';
      const unread = await judgeUnread(guardrails, 'output', terms, now, reason);
      if (unread.isDenied) return { judgement: unread, isDenied: true, messages: [] };
    }
    // Pieces and sound would repeat what was replaced.
    const messages = isChanged
      ? judged.events.map((event) => JSON.stringify(event))
      : held.map(({ data }) => data);
    return { judgement, isDenied: false, messages };
  }
}

/** Whether an event belongs to a response: it is held while a response runs. */
export function isOfResponse(event: RealtimeEvent): boolean {
  return event.type.startsWith('response.') || providerEvents.get(event.type) !== 'plain';
}

/** Whether guardrails delay responses. */
export function holdsResponses(guardrails: readonly Guardrail[]): boolean {
  return hasDeciding(guardrails);
}

function isWhole({ type }: RealtimeEvent): boolean {
  const kind = providerEvents.get(type);
  return kind === 'texts' || kind === 'plain' || kind === 'settings';
}

/** The texts that arrived in pieces, each joined. */
function joinedPieces(held: readonly HeldEvent[]): string[] {
  const texts = new Map<string, string[]>();
  for (const { event } of held) {
    if (providerEvents.get(event.type) !== 'piece') continue;
    const { type, item_id: item, content_index: part } = event;
    const key = `${type} ${String(item)} ${String(part)}`;
    const pieces = texts.get(key);
    const piece = textIn(event, 'delta') ?? '';
    if (pieces === undefined) texts.set(key, [piece]);
    else pieces.push(piece);
  }
  return [...texts.values()].map((pieces) => pieces.join(''));
}

/** Whether there is sound of a response without any transcript of it. */
function hasUnwrittenSound(held: readonly HeldEvent[]): boolean {
  const spoken = new Set<unknown>();
  const written = new Set<unknown>();
  for (const { event } of held) {
    if (providerEvents.get(event.type) === 'sound') spoken.add(event.item_id);
    if (event.type.includes('audio_transcript.')) written.add(event.item_id);
  }
  return [...spoken].some((item) => !written.has(item));
}

/** The event that tells a caller that its response was withheld. */
export function withheldResponse({ response }: RealtimeEvent): RealtimeEvent {
  const { id, object, usage } = objectIn({ response }, 'response');
  const error = { type: 'hooks_failed', code: 'hooks_failed' };
  return {
    type: 'response.done',
    response: {
      id,
      object,
      status: 'failed',
      status_details: { type: 'failed', error },
      output: [],
      usage,
    },
  };
}
