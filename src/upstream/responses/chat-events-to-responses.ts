/** Translates the chunks of a chat completion to numbered response events. */

import { DocumentNode, type Json } from '../documents/document-node.ts';
import {
  brokenOff,
  type EventTranslation,
  parseProviderFault,
  type ResponseContext,
} from '../translation/translation.ts';
import { ResponseItems } from './chat-deltas-to-items.ts';
import { endedResponse, failedResponse, responseHead } from './chat-response-to-responses.ts';

export class ResponseEvents implements EventTranslation {
  readonly #about: ResponseContext;
  #number = 0;
  #hasBegun = false;
  #isOver = false;
  readonly #items: ResponseItems;
  #reason: unknown = null;
  #usage: unknown = null;

  constructor(about: ResponseContext) {
    this.#about = about;
    this.#items = new ResponseItems(about, (type, data) => this.#event(type, data));
  }

  pass(chunk: Json): string {
    if (this.#isOver) return '';
    const node = new DocumentNode(chunk);
    const fault = parseProviderFault(node.json(), 500);
    if (fault !== null) return this.fail(fault.message);
    const { usage } = chunk;
    if (usage !== undefined && usage !== null) this.#usage = usage;
    const choices = node.at('choices');
    const [choice] = choices.isAbsent ? [] : choices.items();
    const startEvents = this.#begin();
    if (choice === undefined) return startEvents;
    const events = this.#items.deltas(choice.at('delta'));
    const reason = choice.at('finish_reason');
    if (!reason.isAbsent) this.#reason = reason.value;
    return startEvents + events;
  }

  done(): string {
    if (this.#isOver) return '';
    if (!this.#hasBegun) return this.fail(brokenOff);
    const closed = this.#items.close();
    this.#isOver = true;
    const { status, ...rest } = endedResponse(this.#about, {
      output: this.#items.output,
      reason: this.#reason,
      usage: this.#usage,
    });
    return closed + this.#event(`response.${String(status)}`, { response: { ...rest, status } });
  }

  /** Some compatible services omit `[DONE]`. */
  end(): string {
    if (this.#isOver) return '';
    return this.#reason === null ? this.fail(brokenOff) : this.done();
  }

  fail(message: string): string {
    const startEvents = this.#begin();
    this.#isOver = true;
    const response = failedResponse(this.#about, this.#items.output, message);
    return startEvents + this.#event('response.failed', { response });
  }

  #begin(): string {
    if (this.#hasBegun) return '';
    this.#hasBegun = true;
    const response = responseHead(this.#about);
    return (
      this.#event('response.created', { response }) +
      this.#event('response.in_progress', { response })
    );
  }

  #event(type: string, data: Json): string {
    const sequence_number = this.#number;
    this.#number += 1;
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...data })}\n\n`;
  }
}
