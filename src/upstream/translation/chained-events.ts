/** Chains two event translations. */

import type { Json } from '../documents/document-node.ts';
import { EventReader } from '../documents/event-reader.ts';
import { parseExactly } from '../documents/exact-json.ts';
import type { EventTranslation } from './translation.ts';

export class ChainedEvents implements EventTranslation {
  readonly #first: EventTranslation;
  readonly #second: EventTranslation;
  readonly #reader = new EventReader();

  constructor(first: EventTranslation, second: EventTranslation) {
    this.#first = first;
    this.#second = second;
  }

  pass(event: Json): string {
    return this.#translate(this.#first.pass(event));
  }

  done(): string {
    return this.#translate(this.#first.done());
  }

  end(): string {
    return this.#translate(this.#first.end()) + this.#second.end();
  }

  fail(message: string): string {
    return this.#second.fail(message);
  }

  #translate(events: string): string {
    let translated = '';
    this.#reader.push(Buffer.from(events), (data) => {
      translated +=
        data === '[DONE]' ? this.#second.done() : this.#second.pass(parseExactly(data) as Json);
    });
    return translated;
  }
}
