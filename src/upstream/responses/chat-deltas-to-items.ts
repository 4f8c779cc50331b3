/** Translates chat deltas to the items of a response, with events for their begin, growth and end. */
import { type StreamedCall, StreamedCalls } from '../../model/objects/streamed-calls.ts';
import type { DocumentNode, Json } from '../documents/document-node.ts';
import type { ResponseContext } from '../translation/translation.ts';
import {
  argumentsText,
  callIdOf,
  callItem,
  messageItem,
  refusalPart,
  textPart,
} from './chat-response-to-responses.ts';

/** The open message. */
interface OpenText {
  readonly kind: 'text' | 'refusal';
  /** Index in the output. */
  readonly at: number;
  text: string;
}

/** A tool call and its output item. */
interface CallItem {
  readonly at: number;
  readonly callId: string;
  readonly call: StreamedCall;
}

/** Formats an event of the stream. */
type EmitEvent = (type: string, data: Json) => string;

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
  #text: OpenText | null = null;
  readonly #calls = new StreamedCalls();
  readonly #callItems = new Map<StreamedCall, CallItem>();
  /** Open calls; a model may interleave their deltas. */
  readonly #openCalls = new Set<CallItem>();
  /** The call of the last delta. */
  #latest: CallItem | null = null;

  constructor(about: ResponseContext, emit: EmitEvent) {
    this.#about = about;
    this.#emit = emit;
  }

  /** Completed items in order. */
  get output(): Json[] {
    return this.#ended.filter((item) => item !== undefined);
  }

  deltas(delta: DocumentNode): string {
    if (delta.isAbsent) return '';
    let events = '';
    for (const [name, kind] of textMembers) {
      const text = delta.at(name);
      if (!text.isAbsent && text.text() !== '') events += this.#say(kind, text.text());
    }
    const calls = delta.at('tool_calls');
    for (const [at, call] of (calls.isAbsent ? [] : calls.items()).entries()) {
      events += this.#call(call, at);
    }
    return events;
  }

  #say(kind: OpenText['kind'], text: string): string {
    let events = '';
    if (this.#text?.kind !== kind) {
      events += this.#endText() + this.#endWhole();
      this.#text = { kind, at: this.#count++, text: '' };
      const item = messageItem(this.#about, this.#text.at, [], 'in_progress');
      const output_index = this.#text.at;
      events += this.#emit('response.output_item.added', { output_index, item });
      const part = kind === 'text' ? textPart('') : refusalPart('');
      events += this.#emit('response.content_part.added', {
        ...partOf(this.#about, this.#text),
        part,
      });
    }
    const open = this.#text!;
    open.text += text;
    const more = kind === 'text' ? { delta: text, logprobs: [] } : { delta: text };
    return (
      events +
      this.#emit(`response.${eventNameOf(kind)}.delta`, { ...partOf(this.#about, open), ...more })
    );
  }

  #call(delta: DocumentNode, at: number): string {
    const called = delta.at('function');
    const [id, name] = [delta.at('id'), called.isAbsent ? called : called.at('name')];
    const call = this.#calls.take({
      index: delta.at('index').value,
      at,
      id: id.isAbsent ? null : id.text(),
      name: name.isAbsent ? null : name.text(),
    });
    const startEvents = this.#callItems.has(call) ? '' : this.#begin(call, called);
    const item = this.#callItems.get(call)!;
    this.#latest = item;
    const argumentsDelta = called.isAbsent ? '' : argumentsText(called.at('arguments'));
    if (argumentsDelta === '') return startEvents;
    if (!this.#openCalls.has(item)) {
      if (argumentsDelta.trim() === '') return startEvents;
      called.at('arguments').refuse('goes back to a call that has ended');
    }
    call.arguments += argumentsDelta;
    const position = { item_id: this.#itemOf(item).id, output_index: item.at };
    return (
      startEvents +
      this.#emit('response.function_call_arguments.delta', { ...position, delta: argumentsDelta })
    );
  }

  #begin(call: StreamedCall, called: DocumentNode): string {
    // A call must have a name.
    called.at('name').text();
    const ended = this.#endText() + this.#endWhole();
    const at = this.#count++;
    const item = { at, call, callId: call.id ?? callIdOf(this.#about, at) };
    this.#callItems.set(call, item);
    this.#openCalls.add(item);
    const added = { output_index: at, item: this.#itemOf(item, 'in_progress') };
    return ended + this.#emit('response.output_item.added', added);
  }

  /** Ends all open items in order. */
  close(): string {
    const openCalls = [...this.#openCalls];
    const isBefore = ({ at }: CallItem): boolean => this.#text === null || at < this.#text.at;
    const before = openCalls.filter(isBefore).map((item) => this.#endCall(item));
    const text = this.#endText();
    return [...before, text, ...openCalls.map((item) => this.#endCall(item))].join('');
  }

  /** Ends the last call once its arguments are complete JSON, because models rarely interleave calls. */
  #endWhole(): string {
    const latest = this.#latest;
    return latest !== null && this.#calls.isWhole(latest.call) ? this.#endCall(latest) : '';
  }

  #endCall(open: CallItem): string {
    if (!this.#openCalls.delete(open)) return '';
    const { name, arguments: text } = open.call;
    const item = this.#itemOf(open);
    this.#ended[open.at] = item;
    const position = { output_index: open.at };
    const done = { item_id: item.id, ...position, name, arguments: text };
    return (
      this.#emit('response.function_call_arguments.done', done) +
      this.#emit('response.output_item.done', { ...position, item })
    );
  }

  #endText(): string {
    const open = this.#text;
    if (open === null) return '';
    this.#text = null;
    const { kind, text, at } = open;
    const part = kind === 'text' ? textPart(text) : refusalPart(text);
    const item = messageItem(this.#about, at, [part]);
    this.#ended[at] = item;
    const of = partOf(this.#about, open);
    const content = kind === 'text' ? { text, logprobs: [] } : { refusal: text };
    return (
      this.#emit(`response.${eventNameOf(kind)}.done`, { ...of, ...content }) +
      this.#emit('response.content_part.done', { ...of, part }) +
      this.#emit('response.output_item.done', { output_index: at, item })
    );
  }

  /** Builds the item in its current state. */
  #itemOf({ at, call, callId }: CallItem, status?: string): Json {
    const { name, arguments: text } = call;
    return callItem(this.#about, at, { call_id: callId, name, arguments: text }, status);
  }
}

function partOf(about: ResponseContext, { at }: OpenText) {
  const { id } = messageItem(about, at, []);
  return { item_id: id, output_index: at, content_index: 0 };
}

function eventNameOf(kind: 'text' | 'refusal'): string {
  return kind === 'text' ? 'output_text' : 'refusal';
}
