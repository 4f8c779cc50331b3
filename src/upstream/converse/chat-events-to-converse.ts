/** Translates the chunks of a chat to the events of ConverseStream, as objects with the name of the event. */
import { DocumentNode, type Json } from '../documents/document-node.ts';
import {
  joinDetails,
  type ReasoningDetail,
  reasoningText,
  textOfDetail,
} from '../translation/reasoning.ts';
import { detailsOfReply } from '../translation/thought-signatures.ts';
import {
  brokenOff,
  type EventTranslation,
  parseProviderFault,
} from '../translation/translation.ts';
import {
  converseUsageOf,
  redactedOf,
  signatureOf,
  stopReasonOf,
} from './chat-response-to-converse.ts';

/** A block whose deltas are arriving. */
interface OpenBlock {
  readonly index: number;
  /** `text`, `reasoning`, or the index of a tool call. */
  readonly key: unknown;
}

export class ConverseEvents implements EventTranslation {
  #open: OpenBlock | null = null;
  /** Reasoning of the open block, whose signature follows its text. */
  #details: ReasoningDetail[] = [];
  #blocks = 0;
  #hasBegun = false;
  /** Finish reason; null before the stream has one. */
  #reason: unknown = null;
  #hasRefused = false;
  #usage: Json = {};
  #isOver = false;

  pass(chunk: Json): string {
    if (this.#isOver) return '';
    const place = new DocumentNode(chunk);
    const fault = parseProviderFault(chunk, 500);
    if (fault !== null) return this.fail(fault.message, fault.type);
    const usage = place.at('usage');
    if (!usage.isAbsent) this.#usage = usage.json();
    const choices = place.at('choices');
    const [choice] = choices.isAbsent ? [] : choices.items();
    if (choice === undefined) return '';
    const start = this.#hasBegun ? '' : eventOf('messageStart', { role: 'assistant' });
    this.#hasBegun = true;
    const delta = choice.at('delta');
    const events = delta.isAbsent ? '' : this.#delta(delta);
    this.#reason = choice.at('finish_reason').value ?? this.#reason;
    return start + events;
  }

  done(): string {
    if (this.#isOver) return '';
    if (!this.#hasBegun) return this.fail(brokenOff);
    this.#isOver = true;
    return (
      this.#closed() +
      eventOf('messageStop', { stopReason: stopReasonOf(this.#reason, this.#hasRefused) }) +
      eventOf('metadata', { usage: converseUsageOf(this.#usage), metrics: { latencyMs: 0 } })
    );
  }

  /** Some compatible services omit `[DONE]`. */
  end(): string {
    if (this.#isOver) return '';
    return this.#reason === null ? this.fail(brokenOff) : this.done();
  }

  fail(message: string, type: string | null = null): string {
    this.#isOver = true;
    const error = { type: type ?? 'api_error', message };
    return `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`;
  }

  #delta(delta: DocumentNode): string {
    let events = this.#reasoning(delta.json());
    for (const name of ['content', 'refusal']) {
      const text = delta.at(name);
      if (text.isAbsent || text.text() === '') continue;
      if (name === 'refusal') this.#hasRefused = true;
      events += this.#at('text') + this.#deltaOf({ text: text.text() });
    }
    const calls = delta.at('tool_calls');
    if (calls.isAbsent) return events;
    for (const [at, call] of calls.items().entries()) events += this.#call(call, at);
    return events;
  }

  #reasoning(delta: Json): string {
    const details = detailsOfReply(delta);
    if (details.length === 0) {
      const text = reasoningText(delta);
      if (text === '') return '';
      return this.#at('reasoning') + this.#deltaOf({ reasoningContent: { text } });
    }
    let events = '';
    for (const detail of details) {
      const text = textOfDetail(detail);
      events += this.#at(`${detail.type} ${detail.index ?? 0}`);
      this.#details.push(detail);
      if (text !== '') events += this.#deltaOf({ reasoningContent: { text } });
    }
    return events;
  }

  #call(call: DocumentNode, at: number): string {
    const index = call.at('index').value ?? at;
    const called = call.at('function');
    const id = call.at('id');
    let events = '';
    if (this.#open?.key !== index || !(id.isAbsent || id.value === '')) {
      const start = { toolUseId: id.text(), name: called.at('name').text() };
      events += this.#begin(index, { start: { toolUse: start } });
    }
    const piece = called.isAbsent ? called : called.at('arguments');
    if (piece.isAbsent || piece.text() === '') return events;
    return events + this.#deltaOf({ toolUse: { input: piece.text() } });
  }

  /** Closes the open block unless it has this key; blocks of text begin with their first delta. */
  #at(key: string): string {
    return this.#open?.key === key ? '' : this.#begin(key, null);
  }

  #begin(key: unknown, start: Json | null): string {
    const closed = this.#closed();
    this.#open = { index: this.#blocks, key };
    this.#blocks += 1;
    const { index: contentBlockIndex } = this.#open;
    return start === null
      ? closed
      : closed + eventOf('contentBlockStart', { ...start, contentBlockIndex });
  }

  #deltaOf(delta: Json): string {
    return eventOf('contentBlockDelta', { delta, contentBlockIndex: this.#open!.index });
  }

  #closed(): string {
    if (this.#open === null) return '';
    const signed = this.#signature();
    const { index: contentBlockIndex } = this.#open;
    this.#open = null;
    this.#details = [];
    return signed + eventOf('contentBlockStop', { contentBlockIndex });
  }

  /** Writes the signature, which must return unchanged to the provider of the reasoning; '' for none. */
  #signature(): string {
    const [detail] = joinDetails(this.#details);
    if (detail === undefined) return '';
    if (detail.type === 'reasoning.encrypted') {
      return this.#deltaOf({ reasoningContent: { redactedContent: redactedOf(detail) } });
    }
    const signature = signatureOf(detail);
    return signature === undefined ? '' : this.#deltaOf({ reasoningContent: { signature } });
  }
}

function eventOf(name: string, data: Json): string {
  return `event: ${name}\ndata: ${JSON.stringify({ [name]: data })}\n\n`;
}
