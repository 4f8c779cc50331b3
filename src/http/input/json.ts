/** Parses JSON strictly, so that no two readers of the same body can see different values. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type BodyLimits, documentBodyLimits, keysMax } from '../../model/json/body-limits.ts';
import { JsonTokens } from './json-tokens.ts';

// Not JSON.parse, because it keeps the last of two equal keys and silently rounds numbers. The
// wrappers that packages offer check for `__proto__` only.

const depthMax = 64;

/** Characters parsed before the event loop gets a turn; an item of a list is never split. */
const turnCharacters = 64 * 1024;

/**
 * Parses UTF-8 JSON text. Reports, with the offset of the fault, what parsers disagree on or what is
 * dangerous: duplicate or `__proto__` keys, byte order marks, lone surrogates, numbers beyond a double,
 * integers that a double would round, deep nesting, trailing data, invalid UTF-8. Stops at the first
 * value above `valuesMax` (docs/reference/api.md, Limits of input).
 *
 * @throws ApiError `invalid` or `tooLarge`; the message never contains a part of the input
 */
export function parseJson(bytes: Buffer, limits: Pick<BodyLimits, 'valuesMax'>): unknown {
  return new JsonReader(bytes, limits.valuesMax).read();
}

/**
 * Like {@link parseJson}, for bodies that are long lists of small items: the event loop gets a turn
 * between items of a list that is a direct field of the body.
 */
export function parseJsonInTurns(
  bytes: Buffer,
  limits: Pick<BodyLimits, 'valuesMax'>,
): Promise<unknown> {
  return new JsonReader(bytes, limits.valuesMax).readInTurns();
}

class JsonReader {
  readonly #tokens: JsonTokens;
  readonly #valuesMax: number;
  #values = 0;
  /** Number of the last value that the current part may contain. */
  #partEnds = Number.POSITIVE_INFINITY;

  constructor(bytes: Buffer, valuesMax: number) {
    this.#tokens = new JsonTokens(bytes);
    this.#valuesMax = valuesMax;
  }

  read(): unknown {
    const value = this.#value(0);
    this.#tokens.end();
    return value;
  }

  async readInTurns(): Promise<unknown> {
    const tokens = this.#tokens;
    if (!tokens.takes('{')) return this.read();
    const value: Record<string, unknown> = {};
    let keys = 0;
    this.#count();
    if (!tokens.takes('}')) {
      do {
        keys += 1;
        if (keys > keysMax) tokens.refuse(`has an object with more than ${keysMax} keys`);
        const key = this.#key(value);
        value[key] = tokens.takes('[') ? await this.#arrayInTurns() : this.#part(1);
      } while (tokens.takes(','));
      tokens.require('}', 'lacks a comma or closing brace');
    }
    tokens.end();
    return value;
  }

  async #arrayInTurns(): Promise<unknown[]> {
    const tokens = this.#tokens;
    const value: unknown[] = [];
    this.#count();
    if (tokens.takes(']')) return value;
    let turnAt = tokens.at + turnCharacters;
    do {
      value.push(this.#part(2));
      if (tokens.at < turnAt) continue;
      await nextTurn();
      turnAt = tokens.at + turnCharacters;
    } while (tokens.takes(','));
    tokens.require(']', 'lacks a comma or closing bracket');
    return value;
  }

  /** Parses a value without interruption, limited to the size of a document. */
  #part(depth: number): unknown {
    this.#partEnds = this.#values + documentBodyLimits.valuesMax;
    return this.#value(depth);
  }

  #value(depth: number): unknown {
    const tokens = this.#tokens;
    if (depth > depthMax) tokens.fail(`is nested deeper than ${depthMax} levels`);
    this.#count();
    if (tokens.takes('{')) return this.#object(depth);
    if (tokens.takes('[')) return this.#array(depth);
    return tokens.scalar();
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > this.#valuesMax) {
      this.#tokens.refuse(`has more than ${this.#valuesMax} values`);
    }
    if (this.#values > this.#partEnds) {
      this.#tokens.refuse(`has a part with more than ${documentBodyLimits.valuesMax} values`);
    }
  }

  #object(depth: number): Record<string, unknown> {
    const tokens = this.#tokens;
    const value: Record<string, unknown> = {};
    let keys = 0;
    if (tokens.takes('}')) return value;
    do {
      keys += 1;
      if (keys > keysMax) tokens.refuse(`has an object with more than ${keysMax} keys`);
      const key = this.#key(value);
      value[key] = this.#value(depth + 1);
    } while (tokens.takes(','));
    tokens.require('}', 'lacks a comma or closing brace');
    return value;
  }

  /** Reads the next key of an object and the colon after it. */
  #key(holder: Record<string, unknown>): string {
    const tokens = this.#tokens;
    const keyAt = tokens.next();
    const key = tokens.string();
    if (key === '__proto__') tokens.fail('has a key that is not allowed', keyAt);
    if (Object.hasOwn(holder, key)) tokens.fail('has the same key twice in one object', keyAt);
    tokens.require(':', 'lacks a colon after a key');
    return key;
  }

  #array(depth: number): unknown[] {
    const tokens = this.#tokens;
    const value: unknown[] = [];
    if (tokens.takes(']')) return value;
    do value.push(this.#value(depth + 1));
    while (tokens.takes(','));
    tokens.require(']', 'lacks a comma or closing bracket');
    return value;
  }
}
