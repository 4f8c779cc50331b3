/** Wraps a zod schema that compiles itself once it is used often. */
import { z } from 'zod';

/** Compiling a schema takes some milliseconds, as long as about this many uncompiled parses. */
const parsesBeforeCompiling = 50;

/** Interprets the schema at first and compiles it when the number of parses makes that worthwhile. */
export class SelfCompilingSchema<Schema extends z.ZodType> {
  /** The uncompiled schema, for readers of its fields. */
  readonly plain: Schema;
  #schema: Schema;
  #parses = 0;

  constructor(schema: Schema) {
    this.plain = schema;
    this.#schema = schema;
  }

  safeParse(value: unknown): z.ZodSafeParseResult<z.output<Schema>> {
    this.#parses += 1;
    if (this.#parses === parsesBeforeCompiling) this.#schema = z.compile(this.plain);
    // The code that zod generates for each object costs more than it saves, before and after compiling.
    const jitless = this.#parses < parsesBeforeCompiling;
    return this.#schema.safeParse(value, { jitless });
  }
}
