/** Judges a stream in windows: releases what no coming text can change, and holds the rest back. */
import type { ResponseForm } from './answer-passages.ts';
import { replaceTexts } from './passages.ts';
import { type AnswerEvent, readStreamEvents, writeStreamEvent } from './stream-answer.ts';
import type { StreamText } from './stream-texts.ts';
import { WindowedText, type WindowVerdict } from './windowed-text.ts';

/** A text of the stream, or its end so far. */
export interface WindowText {
  readonly text: string;
  readonly isAside: boolean;
}

export interface WindowOptions {
  readonly form: ResponseForm;
  /** Text that is gathered before it is judged. */
  readonly windowBytes: number;
  /** Text at the end that is held back, because a match may begin in it. */
  readonly holdBytes: number;
  readonly judge: (text: WindowText) => Promise<WindowVerdict>;
}

/** Why a stream cannot go on. */
export type WindowStop = 'denied' | 'unreadable';

interface HeldEvent {
  readonly event: AnswerEvent;
  /** Offsets in the text of their slot, for pieces; null for a whole text. */
  readonly places: readonly (Place | null)[];
  /** Whole texts as the checks left them, in the order of `texts`. */
  readonly wholes: readonly string[];
}

interface Place {
  readonly slot: WindowedText;
  readonly start: number;
  readonly end: number;
}

/** Events that are held at a time; a stream that needs more is unreadable. */
const heldMax = 20_000;
const heldBytesMax = 8 * 1024 * 1024;
/** Length of one event. */
const partialCharsMax = 1024 * 1024;

export class StreamWindow {
  readonly #options: WindowOptions;
  readonly #slots = new Map<string, WindowedText>();
  readonly #groups = new Map<string, WindowedText>();
  readonly #decoder = new TextDecoder();
  /** The beginning of an event whose end has not arrived. It is read once, however many pieces it has. */
  #partial = '';
  #endsLine = false;
  /** Whether half of a line end has arrived, which waits for the other half. */
  #hasReturn = false;
  #held: HeldEvent[] = [];
  #heldBytes = 0;
  /** Null while the stream may go on. */
  stop: WindowStop | null = null;

  constructor(options: WindowOptions) {
    this.#options = options;
  }

  /** Returns the bytes for the caller. */
  async pass(bytes: Buffer): Promise<Buffer> {
    const lines = this.#linesIn(bytes);
    const isComplete = lines.includes('\n\n') || (this.#endsLine && lines.startsWith('\n'));
    if (lines !== '') this.#endsLine = lines.endsWith('\n');
    this.#partial += lines;
    if (!isComplete) {
      if (this.#partial.length > partialCharsMax) this.stop = 'unreadable';
      return nothing;
    }
    const end = this.#partial.lastIndexOf('\n\n') + 2;
    const complete = this.#partial.slice(0, end);
    this.#partial = this.#partial.slice(end);
    if (this.#partial.length > partialCharsMax) this.stop = 'unreadable';
    return this.#take(complete);
  }

  #linesIn(bytes: Buffer): string {
    const text = (this.#hasReturn ? '\r' : '') + this.#decoder.decode(bytes, { stream: true });
    this.#hasReturn = text.endsWith('\r');
    return (this.#hasReturn ? text.slice(0, -1) : text).replaceAll(/\r\n?/g, '\n');
  }

  /** Returns the last bytes for the caller. */
  async rest(): Promise<Buffer> {
    const end = (this.#hasReturn ? '\n' : '') + this.#decoder.decode();
    const last = await this.#take(this.#partial + end);
    for (const slot of this.#slots.values()) await this.#finish(slot);
    return Buffer.concat([last, this.#release()]);
  }

  async #take(text: string): Promise<Buffer> {
    for (const event of readStreamEvents(this.#options.form, text)) {
      if (this.stop !== null) return nothing;
      await this.#add(event);
    }
    return this.#release();
  }

  async #add(event: AnswerEvent): Promise<void> {
    this.#heldBytes += event.raw.length;
    const isTooMuch = this.#held.length === heldMax || this.#heldBytes > heldBytesMax;
    if (!event.isKnown || isTooMuch) {
      this.stop = 'unreadable';
      return;
    }
    const own = new Set(event.texts.flatMap(({ slot }) => (slot === null ? [] : [slot])));
    // A text ends before another one of its message, and before an event that says so.
    const groups = new Set(event.texts.map(({ group }) => group));
    for (const [group, slot] of this.#groups) {
      const isFollowed = groups.has(group) || endsTexts(event);
      if (isFollowed && !own.has(slot.name)) await this.#finish(slot);
    }
    const places = event.texts.map((text) => this.#place(text));
    const wholes: string[] = [];
    for (const { slot, passage } of event.texts) {
      wholes.push(slot === null ? await this.#judgeWhole(passage) : '');
    }
    this.#held.push({ event, places, wholes });
    for (const { slot } of places.filter((place) => place !== null)) {
      if (this.stop === null && slot.isDue) await this.#judge(slot, false);
    }
  }

  #place({ group, slot: name, passage }: StreamText): Place | null {
    if (name === null) return null;
    const { windowBytes, holdBytes } = this.#options;
    const isAside = passage.isAside === true;
    const slot =
      this.#slots.get(name) ?? new WindowedText({ name, isAside, windowBytes, holdBytes });
    this.#slots.set(name, slot);
    if (passage.text !== '') this.#groups.set(group, slot);
    const start = slot.length;
    slot.add(passage.text);
    return { slot, start, end: slot.length };
  }

  async #judgeWhole({ text, isAside = false }: StreamText['passage']): Promise<string> {
    const verdict = await this.#options.judge({ text, isAside });
    if (verdict.isDenied) this.stop = 'denied';
    return verdict.text;
  }

  /** Judges the rest of a text to which nothing is expected to be added. */
  async #finish(slot: WindowedText): Promise<void> {
    if (this.stop === null && slot.hasUnreleased) await this.#judge(slot, true);
  }

  async #judge(slot: WindowedText, isEnd: boolean): Promise<void> {
    const text = slot.judgedText(isEnd);
    if (text === null) return;
    const verdict = await this.#options.judge({ text, isAside: slot.isAside });
    if (verdict.isDenied || !slot.release(text, verdict, isEnd)) this.stop = 'denied';
  }

  /** Takes the events from the front whose texts are released. */
  #release(): Buffer {
    if (this.stop !== null) return nothing;
    const isReleased = (place: Place | null): boolean =>
      place === null || place.end <= place.slot.released;
    const end = this.#held.findIndex(({ places }) => !places.every(isReleased));
    const released = this.#held.splice(0, end === -1 ? this.#held.length : end);
    const bytes = released.map((held) => {
      this.#heldBytes -= held.event.raw.length;
      return written(held);
    });
    return Buffer.from(bytes.join(''));
  }
}

function written({ event, places, wholes }: HeldEvent): string {
  const { json, texts } = event;
  if (json === null) return writeStreamEvent(event, null);
  const passages = texts.map(({ passage }) => passage);
  const outputs = places.map((place, at) =>
    place === null ? wholes[at]! : place.slot.output(place.start, place.end),
  );
  const isChanged = outputs.some((text, at) => text !== passages[at]!.text);
  return writeStreamEvent(event, isChanged ? replaceTexts(json, passages, outputs) : null);
}

/** Whether an event says that a block, an item or the whole message has ended. */
function endsTexts({ json }: AnswerEvent): boolean {
  if (json === null) return true;
  const { type, choices, candidates } = json;
  if (typeof type === 'string') return /(?:stop|done|completed|incomplete|failed)$/.test(type);
  if ('contentBlockStop' in json || 'messageStop' in json) return true;
  const parts = [choices, candidates].flatMap((list) => (Array.isArray(list) ? list : []));
  return parts.some((part: unknown) => {
    const { finish_reason: reason, finishReason } = (part ?? {}) as Record<string, unknown>;
    return (reason ?? finishReason ?? null) !== null;
  });
}

const nothing = Buffer.alloc(0);
