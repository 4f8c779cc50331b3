/** Translates the events of an Anthropic message to OpenAI chat chunks. */

import { DocumentNode, type Json } from '../documents/document-node.ts';
import {
  brokenOff,
  type EventTranslation,
  parseProviderFault,
  type TranslationContext,
} from '../translation/translation.ts';
import { BlockDeltas } from './anthropic-block-deltas.ts';
import { finishReason, openAiError, openAiUsage } from './anthropic-response-to-openai.ts';

export class OpenAiEvents implements EventTranslation {
  readonly #about: TranslationContext;
  /** Members of every chunk; null before the message has begun. */
  #head: Json | null = null;
  /** Usage, which arrives in several events. */
  #usage: Json = {};
  readonly #deltas: BlockDeltas;
  #isOver = false;

  constructor(about: TranslationContext) {
    this.#about = about;
    this.#deltas = new BlockDeltas(about.customTools);
  }

  pass(event: Json): string {
    if (this.#isOver) return '';
    const node = new DocumentNode(event);
    switch (node.at('type').value) {
      case 'message_start':
        return this.#start(node.at('message'));
      case 'content_block_start':
        return this.#chunk(this.#deltas.start(event.index, node.at('content_block')));
      case 'content_block_delta':
        return this.#chunk(this.#deltas.add(event.index, node.at('delta')));
      case 'content_block_stop':
        return this.#chunk(this.#deltas.stop(event.index));
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

  #chunk(delta: Json | null): string {
    return delta === null ? '' : this.#delta(delta);
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
