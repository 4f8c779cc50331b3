/** Translates OpenAI chat chunks to the events of an Anthropic message. */

import { DocumentNode, type Json } from '../documents/document-node.ts';
import {
  brokenOff,
  type EventTranslation,
  parseProviderFault,
} from '../translation/translation.ts';
import { AnthropicBlocks, anthropicEvent } from './anthropic-block-events.ts';
import {
  anthropicError,
  anthropicUsage,
  messageHead,
  stopOf,
  textBlock,
  toolUseBlock,
} from './openai-response-to-anthropic.ts';

export class AnthropicEvents implements EventTranslation {
  /** Id of the message; null before it has begun. */
  #id: string | null = null;
  readonly #blocks = new AnthropicBlocks();
  /** Indices of started calls. */
  readonly #calls = new Set<unknown>();
  #hasRefused = false;
  #reason: unknown = null;
  /** As the provider reports it; an estimate of the input until then. */
  #usage: Json;
  #isOver = false;

  constructor(likelyInputTokens: number) {
    this.#usage = { prompt_tokens: likelyInputTokens };
  }

  pass(chunk: Json): string {
    if (this.#isOver) return '';
    const place = new DocumentNode(chunk);
    const fault = parseProviderFault(place.json(), 500);
    if (fault !== null) return this.fail(fault.message);
    const usage = place.at('usage');
    if (!usage.isAbsent) this.#usage = usage.json();
    const choices = place.at('choices');
    const [choice] = choices.isAbsent ? [] : choices.items();
    if (choice === undefined) return '';
    const startEvents = this.#begin(place) + this.#contentOf(choice.at('delta'));
    const reason = choice.at('finish_reason');
    if (!reason.isAbsent) this.#reason = reason.value;
    return startEvents;
  }

  done(): string {
    if (this.#isOver) return '';
    if (this.#id === null) return this.fail(brokenOff);
    this.#isOver = true;
    const hasCalls = this.#calls.size > 0;
    return (
      this.#blocks.close() +
      anthropicEvent('message_delta', {
        delta: { ...stopOf(this.#reason, hasCalls, this.#hasRefused), container: null },
        usage: anthropicUsage(this.#usage),
      }) +
      anthropicEvent('message_stop', {})
    );
  }

  /** Some compatible services omit `[DONE]`. */
  end(): string {
    if (this.#isOver) return '';
    return this.#reason === null ? this.fail(brokenOff) : this.done();
  }

  fail(message: string): string {
    this.#isOver = true;
    const { type, ...error } = anthropicError({ message, type: null, status: 500 });
    return anthropicEvent(String(type), error);
  }

  #begin(chunk: DocumentNode): string {
    if (this.#id !== null) return '';
    this.#id = chunk.at('id').text();
    const head = messageHead(this.#id, chunk.at('model').text());
    const pending = { stop_reason: null, stop_sequence: null, stop_details: null };
    const message = { ...head, content: [], ...pending, usage: anthropicUsage(this.#usage) };
    return anthropicEvent('message_start', { message });
  }

  #contentOf(delta: DocumentNode): string {
    if (delta.isAbsent) return '';
    let events = this.#blocks.reasoning(delta);
    for (const name of ['content', 'refusal']) {
      const text = delta.at(name);
      if (text.isAbsent || text.text() === '') continue;
      if (name === 'refusal') this.#hasRefused = true;
      events += this.#text(text.text());
    }
    const calls = delta.at('tool_calls');
    if (calls.isAbsent) return events;
    return (
      events +
      calls
        .items()
        .map((call, at) => this.#call(call, at))
        .join('')
    );
  }

  #text(text: string): string {
    const startEvents =
      this.#blocks.open?.kind === 'text' ? '' : this.#blocks.start({ kind: 'text' }, textBlock(''));
    return startEvents + this.#blocks.delta({ type: 'text_delta', text });
  }

  #call(call: DocumentNode, at: number): string {
    const index = call.at('index').value ?? at;
    const id = call.at('id');
    const called = call.at('function');
    let startEvents = '';
    if (this.#isNew(index, id)) {
      if (id.isAbsent && this.#calls.has(index)) {
        call.at('index').refuse('goes back to a call that has ended');
      }
      this.#calls.add(index);
      const name = called.at('name').text();
      const own = id.isAbsent ? `${this.#id}_${this.#blocks.count}` : id.text();
      startEvents = this.#blocks.start(
        { kind: 'call', index, id: id.value },
        toolUseBlock(own, name, {}),
      );
    }
    const part = called.isAbsent ? called : called.at('arguments');
    if (part.isAbsent || part.text() === '') return startEvents;
    return (
      startEvents + this.#blocks.delta({ type: 'input_json_delta', partial_json: part.text() })
    );
  }

  /** Some services send the same index for every call, with different ids. */
  #isNew(index: unknown, id: DocumentNode): boolean {
    const { open } = this.#blocks;
    if (open?.kind !== 'call' || open.index !== index) return true;
    return !id.isAbsent && id.value !== '' && id.value !== open.id;
  }
}
