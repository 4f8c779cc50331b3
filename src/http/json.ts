/** Knows the JSON that is accepted: one reading only, so that no two readers can see different values. */
import { type BodyLimits, keysMax } from '../model/body-limits.ts';
import { ApiError } from '../model/errors.ts';
import { validationError } from '../model/validation-error.ts';

// Our own reader because JSON.parse keeps the last of two equal keys and rounds numbers without a word,
// and the guards round it that packages offer look for `__proto__` only.

const depthMax = 64;

/**
 * Parses UTF-8 JSON text. Refuses, with the offset of the fault, what parsers disagree on or what
 * does harm: duplicate or `__proto__` keys, byte order marks, lone surrogates, numbers beyond a
 * double, whole ones that a double rounds, deep nesting, trailing data, invalid UTF-8; and what holds more values than the limits say,
 * at the first one too many (docs/api.md, Limits of input).
 *
 * @throws ApiError `invalid` or `tooLarge`; the message never contains a piece of the input.
 */
export function parseJson(bytes: Buffer, limits: Pick<BodyLimits, 'valuesMax'>): unknown {
  return new JsonReader(decode(bytes), limits.valuesMax).read();
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw validationError({ path: [], message: 'the body is not valid UTF-8' });
  }
}

const whitespace = /[ \t\n\r]*/y;
const stringToken = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const wholeNumber = /^-?\d+$/;
const literals: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

class JsonReader {
  readonly #text: string;
  readonly #valuesMax: number;
  #values = 0;
  #at = 0;

  constructor(text: string, valuesMax: number) {
    this.#text = text;
    this.#valuesMax = valuesMax;
  }

  read(): unknown {
    if (this.#text.charCodeAt(0) === 0xfeff) this.#fail('starts with a byte order mark');
    const value = this.#value(0);
    this.#skip();
    if (this.#at < this.#text.length) this.#fail('goes on after its end');
    return value;
  }

  #value(depth: number): unknown {
    if (depth > depthMax) this.#fail(`is nested deeper than ${depthMax} levels`);
    this.#values += 1;
    if (this.#values > this.#valuesMax) this.#refuse(`has more than ${this.#valuesMax} values`);
    this.#skip();
    const first = this.#text[this.#at];
    if (first === '{') return this.#object(depth);
    if (first === '[') return this.#array(depth);
    if (first === '"') return this.#string();
    const literal = literals.find(([word]) => this.#text.startsWith(word, this.#at));
    if (literal === undefined) return this.#number();
    this.#at += literal[0].length;
    return literal[1];
  }

  #object(depth: number): Record<string, unknown> {
    const value: Record<string, unknown> = {};
    let keys = 0;
    this.#at += 1;
    if (this.#takes('}')) return value;
    do {
      keys += 1;
      if (keys > keysMax) this.#refuse(`has an object with more than ${keysMax} keys`);
      this.#skip();
      const keyAt = this.#at;
      const key = this.#string();
      if (key === '__proto__') this.#fail('has a key that is not allowed', keyAt);
      if (Object.hasOwn(value, key)) this.#fail('has the same key twice in one object', keyAt);
      if (!this.#takes(':')) this.#fail('lacks a colon after a key');
      value[key] = this.#value(depth + 1);
    } while (this.#takes(','));
    if (!this.#takes('}')) this.#fail('lacks a comma or closing brace');
    return value;
  }

  #array(depth: number): unknown[] {
    const value: unknown[] = [];
    this.#at += 1;
    if (this.#takes(']')) return value;
    do value.push(this.#value(depth + 1));
    while (this.#takes(','));
    if (!this.#takes(']')) this.#fail('lacks a comma or closing bracket');
    return value;
  }

  #string(): string {
    const start = this.#at;
    const token = this.#token(stringToken);
    if (token === null) return this.#fail('lacks a well-formed string');
    const value = token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
    if (!value.isWellFormed()) this.#fail('has half of a surrogate pair', start);
    return value;
  }

  #number(): number {
    const start = this.#at;
    const token = this.#token(numberToken);
    if (token === null) return this.#fail('lacks a value');
    const value = Number(token);
    if (!Number.isFinite(value)) this.#fail('has a number that is too large', start);
    // It would be kept, and answered, as another one.
    if (wholeNumber.test(token) && value !== 0 && String(value) !== token) {
      this.#fail('has a whole number that is too large to be read exactly: send it as text', start);
    }
    return value;
  }

  #token(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const token = pattern.exec(this.#text)?.[0] ?? null;
    this.#at += token?.length ?? 0;
    return token;
  }

  #skip(): void {
    this.#token(whitespace);
  }

  #takes(character: string): boolean {
    this.#skip();
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #fail(fault: string, at = this.#at): never {
    const message = `the JSON body ${fault} (at character ${at})`;
    throw validationError({ path: [], message });
  }

  #refuse(fault: string): never {
    throw new ApiError('tooLarge', `The JSON body ${fault} (at character ${this.#at})`);
  }
}
