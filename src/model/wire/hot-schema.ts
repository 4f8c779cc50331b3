/** Knows how a schema that may be asked thousands of times, or once, is quick in both cases. */
import { z } from 'zod';

/** To compile a schema takes some milliseconds: as long as to ask it about this often. */
const asksBeforeCompiling = 50;

/** Asks the schema as it is at first, and compiles it when that has become worth the while. */
export class HotSchema<S extends z.ZodType> {
  /** As it was made, for whoever looks at its fields. */
  readonly plain: S;
  #schema: S;
  #asks = 0;

  constructor(schema: S) {
    this.plain = schema;
    this.#schema = schema;
  }

  safeParse(value: unknown): z.ZodSafeParseResult<z.output<S>> {
    this.#asks += 1;
    if (this.#asks === asksBeforeCompiling) this.#schema = z.compile(this.plain);
    // Code that zod would make of each object apart is not worth it for the first few, nor after.
    const jitless = this.#asks < asksBeforeCompiling;
    return this.#schema.safeParse(value, { jitless });
  }
}
