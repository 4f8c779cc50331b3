/** Knows how what a chat says piece by piece becomes the items of a response, each told as it begins, grows and ends. */
import {
  argumentsOf,
  callIdOf,
  callItem,
  messageItem,
  refusalPart,
  textPart,
} from './chat-answer-to-responses.ts';
import type { Json, Place } from './place.ts';
import type { ResponseContext } from './translation.ts';

/** The item that has not ended. */
type OpenItem =
  | { readonly kind: 'text' | 'refusal'; text: string }
  | {
      readonly kind: 'call';
      readonly index: unknown;
      readonly call_id: string;
      readonly name: string;
      arguments: string;
    };

/** An event in the bytes of a stream. */
type Tell = (type: string, data: Json) => string;

export class ResponseItems {
  /** Those that have ended. */
  readonly output: Json[] = [];
  readonly #about: ResponseContext;
  readonly #tell: Tell;
  #open: OpenItem | null = null;

  constructor(about: ResponseContext, tell: Tell) {
    this.#about = about;
    this.#tell = tell;
  }

  deltas(delta: Place): string {
    if (delta.isAbsent) return '';
    let events = '';
    for (const [name, kind] of [
      ['content', 'text'],
      ['refusal', 'refusal'],
    ] as const) {
      const text = delta.at(name);
      if (!text.isAbsent && text.text() !== '') events += this.#text(kind, text.text());
    }
    const calls = delta.at('tool_calls');
    for (const call of calls.isAbsent ? [] : calls.items()) events += this.#call(call);
    return events;
  }

  #text(kind: 'text' | 'refusal', text: string): string {
    let events = '';
    if (this.#open?.kind !== kind) {
      events += this.close();
      this.#open = { kind, text: '' };
      const item = messageItem(this.#about, this.#at, [], 'in_progress');
      events += this.#tell('response.output_item.added', { ...this.#place, item });
      const part = kind === 'text' ? textPart('') : refusalPart('');
      events += this.#tell('response.content_part.added', { ...this.#part, part });
    }
    const open = this.#open as { text: string };
    open.text += text;
    const more = kind === 'text' ? { delta: text, logprobs: [] } : { delta: text };
    return events + this.#tell(`response.${wordOf(kind)}.delta`, { ...this.#part, ...more });
  }

  #call(call: Place): string {
    const index = call.at('index').value ?? 0;
    const id = call.at('id');
    const called = call.at('function');
    let events = '';
    const open = this.#open;
    const isNew =
      open?.kind !== 'call' ||
      open.index !== index ||
      (!id.isAbsent && id.value !== '' && id.value !== open.call_id);
    if (isNew) {
      events += this.close();
      const name = called.at('name').text();
      const call_id = id.isAbsent ? callIdOf(this.#about, this.#at) : id.text();
      this.#open = { kind: 'call', index, call_id, name, arguments: '' };
      const item = callItem(this.#about, this.#at, { call_id, name, arguments: '' }, 'in_progress');
      events += this.#tell('response.output_item.added', { ...this.#place, item });
    }
    const delta = called.isAbsent ? '' : argumentsOf(called.at('arguments'));
    if (delta === '') return events;
    (this.#open as { arguments: string }).arguments += delta;
    const place = { item_id: this.#itemId, ...this.#place };
    return events + this.#tell('response.function_call_arguments.delta', { ...place, delta });
  }

  close(): string {
    const open = this.#open;
    if (open === null) return '';
    const place = this.#place;
    const of = this.#part;
    const itemId = this.#itemId;
    this.#open = null;
    if (open.kind === 'call') {
      const { call_id, name, arguments: said } = open;
      const item = callItem(this.#about, this.#at, { call_id, name, arguments: said });
      this.output.push(item);
      const done = { item_id: itemId, ...place, name, arguments: said };
      return (
        this.#tell('response.function_call_arguments.done', done) +
        this.#tell('response.output_item.done', { ...place, item })
      );
    }
    const { kind, text } = open;
    const part = kind === 'text' ? textPart(text) : refusalPart(text);
    const item = messageItem(this.#about, this.#at, [part]);
    this.output.push(item);
    const said = kind === 'text' ? { text, logprobs: [] } : { refusal: text };
    return (
      this.#tell(`response.${wordOf(kind)}.done`, { ...of, ...said }) +
      this.#tell('response.content_part.done', { ...of, part }) +
      this.#tell('response.output_item.done', { ...place, item })
    );
  }

  /** Of the item that is open. */
  get #at(): number {
    return this.output.length;
  }

  get #place() {
    return { output_index: this.#at };
  }

  get #part() {
    return { item_id: this.#itemId, ...this.#place, content_index: 0 };
  }

  get #itemId(): unknown {
    const isCall = this.#open?.kind === 'call';
    const none = { call_id: '', name: '', arguments: '' };
    const item = isCall
      ? callItem(this.#about, this.#at, none)
      : messageItem(this.#about, this.#at, []);
    return item.id;
  }
}

function wordOf(kind: 'text' | 'refusal'): string {
  return kind === 'text' ? 'output_text' : 'refusal';
}
