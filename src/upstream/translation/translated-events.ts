/** Translates the bytes of one event stream to another; a fault becomes an error event. */

import { type Json, NotTranslatable } from '../documents/document-node.ts';
import { EventReader } from '../documents/event-reader.ts';
import { parseExactly } from '../documents/exact-json.ts';
import type { EventTranslation } from './translation.ts';

export class TranslatedEvents {
  readonly #reader = new EventReader();
  readonly #translation: EventTranslation;
  #isBroken = false;

  constructor(translation: EventTranslation) {
    this.#translation = translation;
  }

  /** Returns the translated bytes for the caller; never throws. */
  pass(bytes: Buffer): Buffer {
    return this.#translate((emit) => this.#reader.push(bytes, (data) => emit(this.#event(data))));
  }

  /** Returns the last bytes for the caller at the end of the stream. */
  rest(): Buffer {
    return this.#translate((emit) => {
      const last = this.#reader.rest();
      if (last !== null) emit(this.#event(last));
      emit(this.#translation.end());
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

  #translate(read: (emit: (events: string) => void) => void): Buffer {
    if (this.#isBroken) return nothing;
    let translated = '';
    try {
      read((events) => {
        translated += events;
      });
    } catch (thrown) {
      // A RangeError means that the event is nested too deeply.
      if (!(thrown instanceof NotTranslatable || thrown instanceof RangeError)) throw thrown;
      this.#isBroken = true;
      translated += this.#translation.fail(
        `The provider has sent what it must not: ${thrown.message}`,
      );
    }
    return Buffer.from(translated);
  }
}

const nothing = Buffer.alloc(0);
