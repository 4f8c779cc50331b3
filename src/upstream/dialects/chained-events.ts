/** Knows how events are told in a third format by way of a second. */

import type { Json } from './document-node.ts';
import { EventReader } from './event-reader.ts';
import { parseExactly } from './exact-json.ts';
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
    return this.#told(this.#first.pass(event));
  }

  done(): string {
    return this.#told(this.#first.done());
  }

  end(): string {
    return this.#told(this.#first.end()) + this.#second.end();
  }

  fail(message: string): string {
    return this.#second.fail(message);
  }

  #told(events: string): string {
    let told = '';
    this.#reader.push(Buffer.from(events), (data) => {
      told +=
        data === '[DONE]' ? this.#second.done() : this.#second.pass(parseExactly(data) as Json);
    });
    return told;
  }
}
