/** Translates the events of an Anthropic message to OpenAI chat chunks. */

import { DocumentNode, type Json } from '../documents/document-node.ts';
import {
  brokenOff,
  type EventTranslation,
  parseProviderFault,
  type TranslationContext,
} from '../translation/translation.ts';
import { finishReason, openAiError, openAiUsage } from './anthropic-response-to-openai.ts';

/** A tool call whose block has not ended. */
interface OpenCall {
  /** Index among the tool calls of the response. */
  readonly index: number;
  hasArguments: boolean;
}

export class OpenAiEvents implements EventTranslation {
  readonly #about: TranslationContext;
  /** Members of every chunk; null before the message has begun. */
  #head: Json | null = null;
  /** Usage, which arrives in several events. */
  #usage: Json = {};
  /** Open calls by the index of their block. */
  readonly #openCalls = new Map<unknown, OpenCall>();
  #callCount = 0;
  #isOver = false;

  constructor(about: TranslationContext) {
    this.#about = about;
  }

  pass(event: Json): string {
    if (this.#isOver) return '';
    const node = new DocumentNode(event);
    switch (node.at('type').value) {
      case 'message_start':
        return this.#start(node.at('message'));
      case 'content_block_start':
        return this.#startBlock(event.index, node.at('content_block'));
      case 'content_block_delta':
        return this.#deltaOf(event.index, node.at('delta'));
      case 'content_block_stop':
        return this.#stopBlock(event.index);
      case 'message_delta':
        return this.#finish(node);
      case 'message_stop':
        return this.#stop();
      case 'error':
        return this.fail(parseProviderFault(event, 200)?.message ?? brokenOff);
      // A comment keeps the connection alive, as the ping does at Anthropic.
      case 'ping':
        return ': ping\n\n';
      default:
        return '';
    }
  }

  done(): string {
    return '';
  }

  end(): string {
    return this.#isOver ? '' : this.fail(brokenOff);
  }

  fail(message: string): string {
    this.#isOver = true;
    return eventOf(openAiError({ message, type: null, status: 200 }));
  }

  #start(message: DocumentNode): string {
    this.#head = {
      id: message.at('id').text(),
      object: 'chat.completion.chunk',
      created: Math.floor(this.#about.now / 1000),
      model: message.at('model').text(),
    };
    const usage = message.at('usage');
    if (!usage.isAbsent) this.#usage = usage.json();
    return this.#delta({ role: 'assistant', content: '', refusal: null });
  }

  #startBlock(index: unknown, block: DocumentNode): string {
    const type = block.at('type').value;
    if (type === 'text') {
      const text = block.at('text');
      return text.isAbsent || text.value === '' ? '' : this.#delta({ content: text.text() });
    }
    if (type !== 'tool_use') return '';
    const call: OpenCall = { index: this.#callCount, hasArguments: false };
    this.#callCount += 1;
    this.#openCalls.set(index, call);
    const { value: input } = block.at('input');
    const isWhole = typeof input === 'object' && input !== null && Object.keys(input).length > 0;
    call.hasArguments = isWhole;
    const name = block.at('name').text();
    return this.#callDelta(call, {
      id: block.at('id').text(),
      type: 'function',
      function: { name, arguments: isWhole ? JSON.stringify(input) : '' },
    });
  }

  #deltaOf(index: unknown, delta: DocumentNode): string {
    const type = delta.at('type').value;
    if (type === 'text_delta') return this.#delta({ content: delta.at('text').text() });
    if (type !== 'input_json_delta') return '';
    const call = this.#openCalls.get(index);
    const part = delta.at('partial_json').text();
    if (call === undefined || part === '') return '';
    call.hasArguments = true;
    return this.#callDelta(call, { function: { arguments: part } });
  }

  /** Sends an empty object when a call has no arguments. */
  #stopBlock(index: unknown): string {
    const call = this.#openCalls.get(index);
    this.#openCalls.delete(index);
    if (call === undefined || call.hasArguments) return '';
    return this.#callDelta(call, { function: { arguments: '{}' } });
  }

  #finish(event: DocumentNode): string {
    const usage = event.at('usage');
    if (!usage.isAbsent) {
      const counts = Object.entries(usage.json()).filter(([, count]) => count !== null);
      this.#usage = { ...this.#usage, ...Object.fromEntries(counts) };
    }
    const reason = event.at('delta').at('stop_reason');
    return reason.isAbsent ? '' : this.#delta({}, finishReason(reason.value));
  }

  #stop(): string {
    this.#isOver = true;
    const done = 'data: [DONE]\n\n';
    if (!this.#about.wantsUsage) return done;
    return eventOf({ ...this.#opened(), choices: [], usage: openAiUsage(this.#usage) }) + done;
  }

  #callDelta({ index }: OpenCall, call: Json): string {
    return this.#delta({ tool_calls: [{ index, ...call }] });
  }

  #delta(delta: Json, finish: string | null = null): string {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
    const usage = this.#about.wantsUsage ? { usage: null } : {};
    return eventOf({ ...this.#opened(), choices, ...usage });
  }

  #opened(): Json {
    return this.#head ?? new DocumentNode({}).refuse('must begin with message_start');
  }
}

function eventOf(data: Json): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
