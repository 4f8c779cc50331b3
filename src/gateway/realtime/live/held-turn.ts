/** Holds the messages of a response of a live session until guardrails have judged all of its texts together. */
import type { Judgement } from '../../../guardrails/evaluate.ts';
import { type Guardrail, isObserving } from '../../../guardrails/guardrail.ts';
import { isObject } from '../../../model/json/read-object.ts';
import type { LiveMessage } from '../../../model/realtime/live-messages.ts';
import { objectIn, textIn } from '../../../model/realtime/openai-events.ts';
import { judgeEvents, judgeUnread } from '../judge-events.ts';
import type { SessionTerms } from '../session-terms.ts';

/** Messages of a response of five minutes with sound take about 20 MB. */
const heldBytesMax = 32 * 1024 * 1024;

const transcriptions = ['outputTranscription', 'inputTranscription', 'interimInputTranscription'];

/** The messages that are passed to the caller after their judgement. */
export interface TurnRelease {
  readonly judgement: Judgement | null;
  readonly isDenied: boolean;
  readonly messages: readonly (Buffer | string)[];
}

export class HeldTurn {
  #messages: Buffer[] = [];
  /** The messages without the pieces of texts and sound. */
  #rests: LiveMessage[] = [];
  /** Texts by their place, joined. */
  #texts = new Map<string, string>();
  #hasSound = false;
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  add(message: LiveMessage, data: Buffer): void {
    this.#bytes += data.length;
    if (this.#isOverflown) {
      this.#messages = [];
      this.#rests = [];
      this.#texts.clear();
      return;
    }
    this.#messages.push(data);
    this.#rests.push(this.#withoutPieces(message));
  }

  /** Judges everything that is held, and holds nothing afterwards. */
  async judge(
    guardrails: readonly Guardrail[],
    terms: SessionTerms,
    now: number,
  ): Promise<TurnRelease> {
    const held = this.#messages;
    const events = [this.#joined(), ...this.#rests];
    const isOverflown = this.#isOverflown;
    const isUnwritten = this.#hasSound && !this.#texts.has('outputTranscription');
    this.clear();
    if (isOverflown) return { judgement: null, isDenied: true, messages: [] };
    const judged = await judgeEvents(guardrails, 'output', terms, now, events);
    if (judged === null) {
      const isDenied = guardrails.some((one) => !isObserving(one) && !one.passesUnjudged);
      return { judgement: null, isDenied, messages: isDenied ? [] : held };
    }
    const { judgement, isChanged } = judged;
    if (judgement.isDenied) return { judgement, isDenied: true, messages: [] };
    if (isUnwritten) {
      const reason = 'the sound has no transcription';
      const unread = await judgeUnread(guardrails, 'output', terms, now, reason);
      if (unread.isDenied) return { judgement: unread, isDenied: true, messages: [] };
    }
    // Pieces and sound would repeat what was replaced.
    const messages = isChanged
      ? judged.events.filter(hasContent).map((event) => JSON.stringify(event))
      : held;
    return { judgement, isDenied: false, messages };
  }

  clear(): void {
    this.#messages = [];
    this.#rests = [];
    this.#texts = new Map();
    this.#hasSound = false;
    this.#bytes = 0;
  }

  get #isOverflown(): boolean {
    return this.#bytes > heldBytesMax;
  }

  #withoutPieces(message: LiveMessage): LiveMessage {
    const { serverContent } = message;
    if (!isObject(serverContent)) return message;
    const rest: Record<string, unknown> = { ...serverContent };
    for (const name of transcriptions) {
      const text = textIn(rest[name], 'text');
      if (text === null) continue;
      this.#addText(name, text);
      delete rest[name];
    }
    const { parts } = objectIn(rest, 'modelTurn');
    if (Array.isArray(parts)) {
      const left = parts.flatMap((part: unknown) => this.#withoutPiece(part));
      if (left.length > 0) rest.modelTurn = { ...objectIn(rest, 'modelTurn'), parts: left };
      else delete rest.modelTurn;
    }
    return { ...message, serverContent: rest };
  }

  #withoutPiece(part: unknown): unknown[] {
    if (!isObject(part)) return [part];
    const { text, inlineData, ...others } = part;
    if (textIn(inlineData, 'mimeType')?.startsWith('audio/') === true && text === undefined) {
      this.#hasSound = true;
      return [];
    }
    if (typeof text !== 'string') return [part];
    this.#addText(part.thought === true ? 'thought' : 'text', text);
    const isPlain = Object.keys(others).every((name) => name === 'thought');
    return isPlain ? [] : [inlineData === undefined ? others : { ...others, inlineData }];
  }

  #addText(place: string, text: string): void {
    this.#texts.set(place, (this.#texts.get(place) ?? '') + text);
  }

  /** One message with all texts. */
  #joined(): LiveMessage {
    const serverContent: Record<string, unknown> = {};
    const parts: object[] = [];
    for (const [place, text] of this.#texts) {
      if (place === 'text') parts.push({ text });
      else if (place === 'thought') parts.push({ text, thought: true });
      else serverContent[place] = { text };
    }
    if (parts.length > 0) serverContent.modelTurn = { role: 'model', parts };
    return { serverContent };
  }
}

/** Whether anything is left of a message. */
function hasContent(message: LiveMessage): boolean {
  const { serverContent, ...others } = message;
  return Object.keys(others).length > 0 || Object.keys((serverContent as object) ?? {}).length > 0;
}
