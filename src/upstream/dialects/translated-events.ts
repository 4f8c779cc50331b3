/** Knows how the bytes of one stream become those of another, and that a fault in it is told as an error of the stream. */

import { type Json, NotTranslatable } from './document-node.ts';
import { EventReader } from './event-reader.ts';
import { parseExactly } from './exact-json.ts';
import type { EventTranslation } from './translation.ts';

export class TranslatedEvents {
  readonly #reader = new EventReader();
  readonly #translation: EventTranslation;
  #isBroken = false;

  constructor(translation: EventTranslation) {
    this.#translation = translation;
  }

  /** What the caller is told for these bytes of the provider; never throws. */
  pass(bytes: Buffer): Buffer {
    return this.#told((tell) => this.#reader.push(bytes, (data) => tell(this.#event(data))));
  }

  /** What the caller is told when the provider says no more. */
  rest(): Buffer {
    return this.#told((tell) => {
      const last = this.#reader.rest();
      if (last !== null) tell(this.#event(last));
      tell(this.#translation.end());
    });
  }

  #event(data: string): string {
    if (data.trim() === '[DONE]') return this.#translation.done();
    let event: unknown;
    try {
      event = parseExactly(data);
    } catch {
      throw new NotTranslatable('', 'has an event that is no JSON');
    }
    return this.#translation.pass(event as Json);
  }

  #told(read: (tell: (events: string) => void) => void): Buffer {
    if (this.#isBroken) return nothing;
    let told = '';
    try {
      read((events) => {
        told += events;
      });
    } catch (thrown) {
      // One that is nested too deeply is no better than one that makes no sense.
      if (!(thrown instanceof NotTranslatable || thrown instanceof RangeError)) throw thrown;
      this.#isBroken = true;
      told += this.#translation.fail(`The provider has sent what it must not: ${thrown.message}`);
    }
    return Buffer.from(told);
  }
}

const nothing = Buffer.alloc(0);
