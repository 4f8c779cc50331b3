/** Knows how what a chat says piece by piece becomes the items of a response, each told as it begins, grows and ends. */
import { type StreamedCall, StreamedCalls } from '../../model/objects/streamed-calls.ts';
import {
  argumentsOf,
  callIdOf,
  callItem,
  messageItem,
  refusalPart,
  textPart,
} from './chat-response-to-responses.ts';
import type { Json, DocumentNode } from './document-node.ts';
import type { ResponseContext } from './translation.ts';

/** The message that has not ended. */
interface OpenText {
  readonly kind: 'text' | 'refusal';
  /** Its place in the output. */
  readonly at: number;
  text: string;
}

/** A call, and the item that it becomes. */
interface CallItem {
  readonly at: number;
  readonly callId: string;
  readonly call: StreamedCall;
}

/** An event in the bytes of a stream. */
type EmitEvent = (type: string, data: Json) => string;

export class ResponseItems {
  readonly #about: ResponseContext;
  readonly #tell: EmitEvent;
  /** Those that have ended, each in its place. */
  readonly #ended: Json[] = [];
  #begun = 0;
  #text: OpenText | null = null;
  readonly #calls = new StreamedCalls();
  readonly #callItems = new Map<StreamedCall, CallItem>();
  /** Those that have not ended: a model may say something of one, then of another, then of the first again. */
  readonly #openCalls = new Set<CallItem>();
  /** Of which something was said last. */
  #latest: CallItem | null = null;

  constructor(about: ResponseContext, tell: EmitEvent) {
    this.#about = about;
    this.#tell = tell;
  }

  /** Those that have ended, in their order. */
  get output(): Json[] {
    return this.#ended.filter((item) => item !== undefined);
  }

  deltas(delta: DocumentNode): string {
    if (delta.isAbsent) return '';
    let events = '';
    for (const [name, kind] of [
      ['content', 'text'],
      ['refusal', 'refusal'],
    ] as const) {
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
      this.#text = { kind, at: this.#begun++, text: '' };
      const item = messageItem(this.#about, this.#text.at, [], 'in_progress');
      const output_index = this.#text.at;
      events += this.#tell('response.output_item.added', { output_index, item });
      const part = kind === 'text' ? textPart('') : refusalPart('');
      events += this.#tell('response.content_part.added', {
        ...partOf(this.#about, this.#text),
        part,
      });
    }
    const open = this.#text!;
    open.text += text;
    const more = kind === 'text' ? { delta: text, logprobs: [] } : { delta: text };
    return (
      events +
      this.#tell(`response.${eventNameOf(kind)}.delta`, { ...partOf(this.#about, open), ...more })
    );
  }

  #call(said: DocumentNode, at: number): string {
    const called = said.at('function');
    const [id, name] = [said.at('id'), called.isAbsent ? called : called.at('name')];
    const call = this.#calls.take({
      index: said.at('index').value,
      at,
      id: id.isAbsent ? null : id.text(),
      name: name.isAbsent ? null : name.text(),
    });
    const known = this.#callItems.get(call);
    const begun = known === undefined ? this.#begin(call, called) : '';
    const item = known ?? this.#callItems.get(call)!;
    this.#latest = item;
    const delta = called.isAbsent ? '' : argumentsOf(called.at('arguments'));
    if (delta === '') return begun;
    if (!this.#openCalls.has(item)) {
      if (delta.trim() === '') return begun;
      called.at('arguments').refuse('goes back to a call that has ended');
    }
    call.arguments += delta;
    const place = { item_id: this.#itemOf(item).id, output_index: item.at };
    return begun + this.#tell('response.function_call_arguments.delta', { ...place, delta });
  }

  #begin(call: StreamedCall, called: DocumentNode): string {
    // Without a name it is none.
    called.at('name').text();
    const ended = this.#endText() + this.#endWhole();
    const at = this.#begun++;
    const item = { at, call, callId: call.id ?? callIdOf(this.#about, at) };
    this.#callItems.set(call, item);
    this.#openCalls.add(item);
    const told = { output_index: at, item: this.#itemOf(item, 'in_progress') };
    return ended + this.#tell('response.output_item.added', told);
  }

  /** All that are open, in their order. */
  close(): string {
    const openCalls = [...this.#openCalls];
    const isBefore = ({ at }: CallItem): boolean => this.#text === null || at < this.#text.at;
    const before = openCalls.filter(isBefore).map((item) => this.#endCall(item));
    const text = this.#endText();
    return [...before, text, ...openCalls.map((item) => this.#endCall(item))].join('');
  }

  /** The call of which something was said last, where no more can be: usually models take no turns. */
  #endWhole(): string {
    const latest = this.#latest;
    return latest !== null && this.#calls.isWhole(latest.call) ? this.#endCall(latest) : '';
  }

  #endCall(open: CallItem): string {
    if (!this.#openCalls.delete(open)) return '';
    const { name, arguments: said } = open.call;
    const item = this.#itemOf(open);
    this.#ended[open.at] = item;
    const place = { output_index: open.at };
    const done = { item_id: item.id, ...place, name, arguments: said };
    return (
      this.#tell('response.function_call_arguments.done', done) +
      this.#tell('response.output_item.done', { ...place, item })
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
    const said = kind === 'text' ? { text, logprobs: [] } : { refusal: text };
    return (
      this.#tell(`response.${eventNameOf(kind)}.done`, { ...of, ...said }) +
      this.#tell('response.content_part.done', { ...of, part }) +
      this.#tell('response.output_item.done', { output_index: at, item })
    );
  }

  /** As it is by now; one that begins has no arguments. */
  #itemOf({ at, call, callId }: CallItem, status?: string): Json {
    const { name, arguments: said } = call;
    return callItem(this.#about, at, { call_id: callId, name, arguments: said }, status);
  }
}

function partOf(about: ResponseContext, { at }: OpenText) {
  const { id } = messageItem(about, at, []);
  return { item_id: id, output_index: at, content_index: 0 };
}

function eventNameOf(kind: 'text' | 'refusal'): string {
  return kind === 'text' ? 'output_text' : 'refusal';
}
