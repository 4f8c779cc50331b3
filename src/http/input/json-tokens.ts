/** Tokenises UTF-8 JSON text and reports faults with their position. */
import { ApiError } from '../../model/wire/errors.ts';
import { validationError } from '../../model/wire/validation-error.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw validationError({ path: [], message: 'the body is not valid UTF-8' });
  }
}

const [tab, lineFeed, carriageReturn, space] = [9, 10, 13, 32];
const stringToken = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const wholeNumber = /^-?\d+$/;
const literals: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

export class JsonTokens {
  readonly #text: string;
  #at = 0;

  /** @throws ApiError `invalid` for bytes that are not UTF-8 or start with a byte order mark */
  constructor(bytes: Buffer) {
    this.#text = decode(bytes);
    if (this.#text.charCodeAt(0) === 0xfeff) this.fail('starts with a byte order mark');
  }

  /** Index of the next character. */
  get at(): number {
    return this.#at;
  }

  /** Skips whitespace; returns the index of the next token. */
  next(): number {
    while (isWhitespace(this.#text.charCodeAt(this.#at))) this.#at += 1;
    return this.#at;
  }

  /** Consumes this character if it is the next token. */
  takes(mark: string): boolean {
    if (this.#text[this.next()] !== mark) return false;
    this.#at += 1;
    return true;
  }

  /** Consumes this character, which must be the next token. */
  require(mark: string, fault: string): void {
    if (!this.takes(mark)) this.fail(fault);
  }

  /** Requires the end of the text. */
  end(): void {
    if (this.next() < this.#text.length) this.fail('goes on after its end');
  }

  /** Reads a string, a number or a literal. */
  scalar(): unknown {
    if (this.#text[this.next()] === '"') return this.string();
    const literal = literals.find(([word]) => this.#text.startsWith(word, this.#at));
    if (literal === undefined) return this.#number();
    this.#at += literal[0].length;
    return literal[1];
  }

  string(): string {
    const start = this.#at;
    if (!this.#pass(stringToken)) return this.fail('lacks a well-formed string');
    const plain = this.#text.slice(start + 1, this.#at - 1);
    const value = plain.includes('\\') ? (JSON.parse(`"${plain}"`) as string) : plain;
    if (!value.isWellFormed()) this.fail('has half of a surrogate pair', start);
    return value;
  }

  fail(fault: string, at = this.#at): never {
    const message = `the JSON body ${fault} (at character ${at})`;
    throw validationError({ path: [], message });
  }

  refuse(fault: string): never {
    throw new ApiError('tooLarge', `The JSON body ${fault} (at character ${this.#at})`);
  }

  #number(): number {
    const start = this.#at;
    if (!this.#pass(numberToken)) return this.fail('lacks a value');
    const token = this.#text.slice(start, this.#at);
    const value = Number(token);
    if (!Number.isFinite(value)) this.fail('has a number that is too large', start);
    // A double would store, and return, a different number.
    if (wholeNumber.test(token) && value !== 0 && String(value) !== token) {
      this.fail('has a whole number that is too large to be read exactly: send it as text', start);
    }
    return value;
  }

  /** Consumes a match of the sticky pattern at the current index; false without one. */
  #pass(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const isFound = pattern.test(this.#text);
    if (isFound) this.#at = pattern.lastIndex;
    return isFound;
  }
}

function isWhitespace(code: number): boolean {
  return code === space || code === lineFeed || code === carriageReturn || code === tab;
}
