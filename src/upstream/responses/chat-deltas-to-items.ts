/** Translates chat deltas to the items of a response, with events for their begin, growth and end. */
import type { DocumentNode, Json } from '../documents/document-node.ts';
import { type ReasoningDetail, reasoningText, textOfDetail } from '../translation/reasoning.ts';
import { detailsOfReply } from '../translation/thought-signatures.ts';
import type { ResponseContext } from '../translation/translation.ts';
import { type CallItem, CallItems } from './call-items.ts';
import { annotationsOf } from './chat-response-to-responses.ts';
import type { EmitEvent } from './open-item.ts';
import { ReasoningItem } from './reasoning-item.ts';
import { TextItem } from './text-item.ts';

/** Members of a delta that contain text, and the kind of their content part. */
const textMembers = [
  ['content', 'text'],
  ['refusal', 'refusal'],
] as const;

export class ResponseItems {
  readonly #about: ResponseContext;
  readonly #emit: EmitEvent;
  /** Completed items by output index. */
  readonly #ended: Json[] = [];
  #count = 0;
  /** The open message or reasoning. */
  #open: TextItem | ReasoningItem | null = null;
  readonly #calls: CallItems;
  /** Signatures that arrived within a text, and follow it. */
  #late: ReasoningDetail[] = [];

  constructor(about: ResponseContext, emit: EmitEvent) {
    this.#about = about;
    this.#emit = emit;
    this.#calls = new CallItems(about, emit);
  }

  /** Completed items in order. */
  get output(): Json[] {
    return this.#ended.filter((item) => item !== undefined);
  }

  deltas(delta: DocumentNode): string {
    if (delta.isAbsent) return '';
    let events = this.#think(delta);
    for (const [name, kind] of textMembers) {
      const text = delta.at(name);
      if (!text.isAbsent && text.text() !== '') events += this.#say(kind, text.text());
    }
    for (const annotation of annotationsOf(delta.at('annotations'))) {
      const open = this.#open;
      if (open instanceof TextItem && open.kind === 'text') events += open.annotate(annotation);
    }
    const calls = delta.at('tool_calls');
    for (const [at, call] of (calls.isAbsent ? [] : calls.items()).entries()) {
      events += this.#calls.delta(call, at, () => ({
        events: this.#endOpen() + this.#endWhole(),
        at: this.#count++,
      }));
    }
    return events;
  }

  /** Ends all open items in order. */
  close(): string {
    const openAt = this.#open?.at ?? 0;
    const calls = this.#calls.open;
    const before = calls.filter(({ at }) => at < openAt).map((call) => this.#endCall(call));
    const open = this.#endOpen();
    const after = calls.filter(({ at }) => at >= openAt).map((call) => this.#endCall(call));
    return [...before, open, ...after].join('');
  }

  #think(delta: DocumentNode): string {
    const details = detailsOfReply(delta.json());
    const text = reasoningText(delta.json()) || details.map(textOfDetail).join('');
    if (text === '' && details.length === 0) return '';
    if (this.#open instanceof ReasoningItem) return this.#open.add(text, details);
    if (text === '' && this.#open instanceof TextItem) {
      this.#late.push(...details);
      return '';
    }
    const ended = this.#endOpen() + this.#endWhole();
    const item = new ReasoningItem(this.#about, this.#count++, this.#emit);
    this.#open = item;
    return ended + item.begin() + item.add(text, details);
  }

  #say(kind: TextItem['kind'], text: string): string {
    const open = this.#open;
    if (open instanceof TextItem && open.kind === kind) return open.add(text);
    const ended = this.#endOpen() + this.#endWhole();
    const item = new TextItem(kind, this.#about, this.#count++, this.#emit);
    this.#open = item;
    return ended + item.begin() + item.add(text);
  }

  #endOpen(): string {
    const open = this.#open;
    if (open === null) return '';
    this.#open = null;
    const { events, item } = open.end();
    this.#ended[open.at] = item;
    return events + this.#addLate();
  }

  #addLate(): string {
    const details = this.#late;
    if (details.length === 0) return '';
    this.#late = [];
    const item = new ReasoningItem(this.#about, this.#count++, this.#emit);
    const startEvents = item.begin() + item.add('', details);
    const { events, item: ended } = item.end();
    this.#ended[item.at] = ended;
    return startEvents + events;
  }

  /** Ends the last call once its arguments are complete JSON, because models rarely interleave calls. */
  #endWhole(): string {
    const whole = this.#calls.whole();
    return whole === null ? '' : this.#endCall(whole);
  }

  #endCall(call: CallItem): string {
    const { events, item } = this.#calls.end(call);
    this.#ended[call.at] = item;
    return events;
  }
}
