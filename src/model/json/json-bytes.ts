/** Writes a value as JSON in slices; the bytes are those of `JSON.stringify`. */
import type { Slices } from '../../slices.ts';
import { isRawJSON } from './raw-json.ts';

/** Characters that are collected before they are encoded. */
const pieceChars = 128 * 1024;
/** Values between two interruptions. */
const interruptedValues = 500;
/** Values and levels of a part that is written natively; few enough that counting in vain costs little. */
const partValuesMax = 64;
const partDepthMax = 8;
/** Texts of this length count as another value. */
const valueChars = pieceChars / partValuesMax;

/**
 * For values that come from JSON; undefined members are left out.
 *
 * @throws RangeError for a value that is nested too deeply
 */
export function* writeJson(value: unknown): Slices<Buffer> {
  return yield* joinPieces(yield* writeJsonPieces(value));
}

/** {@link writeJson} in pieces, which a larger document may contain. */
export function* writeJsonPieces(value: unknown): Slices<readonly Buffer[]> {
  const writer = new JsonWriter();
  yield* writer.value(value);
  return writer.end();
}

/** Bytes that are copied between two interruptions. */
const copiedBytes = 1024 * 1024;

/** Concatenates the pieces. */
export function* joinPieces(pieces: readonly Buffer[]): Slices<Buffer> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const joined = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; from += copiedBytes) {
      at += piece.copy(joined, at, from, Math.min(piece.length, from + copiedBytes));
      yield;
    }
  }
  return joined;
}

class JsonWriter {
  readonly #pieces: Buffer[] = [];
  #text = '';
  #values = 0;

  end(): readonly Buffer[] {
    this.#flush();
    return this.#pieces;
  }

  *value(value: unknown): Slices<void> {
    if (this.#addsSmall(value)) return;
    if (typeof value === 'string') yield* this.#longText(value);
    else if (Array.isArray(value)) yield* this.#list(value);
    else yield* this.#members(value as Readonly<Record<string, unknown>>);
  }

  /** Adds a value that needs no generator, which would cost more than the value. */
  #addsSmall(value: unknown): boolean {
    const left = valuesLeft(value, partValuesMax);
    if (left < 0 && !isRawJSON(value)) return false;
    this.#values += partValuesMax - left;
    this.#add(JSON.stringify(value) ?? 'null');
    return true;
  }

  #isInterrupted(): boolean {
    if (this.#values < interruptedValues) return false;
    this.#values = 0;
    return true;
  }

  *#list(items: readonly unknown[]): Slices<void> {
    let before = '[';
    for (const item of items) {
      this.#add(before);
      before = ',';
      if (!this.#addsSmall(item)) yield* this.value(item);
      if (this.#isInterrupted()) yield;
    }
    this.#add(before === '[' ? '[]' : ']');
  }

  *#members(object: Readonly<Record<string, unknown>>): Slices<void> {
    let before = '{';
    for (const name of Object.keys(object)) {
      const value = object[name];
      if (value === undefined) continue;
      this.#add(`${before}${JSON.stringify(name)}:`);
      before = ',';
      if (!this.#addsSmall(value)) yield* this.value(value);
      if (this.#isInterrupted()) yield;
    }
    this.#add(before === '{' ? '{}' : '}');
  }

  *#longText(text: string): Slices<void> {
    this.#add('"');
    for (let at = 0; at < text.length; ) {
      const code = text.charCodeAt(at + pieceChars - 1);
      const isHalfPair = code >= 0xd800 && code <= 0xdbff;
      const end = at + pieceChars + (isHalfPair ? 1 : 0);
      this.#add(JSON.stringify(text.slice(at, end)).slice(1, -1));
      at = end;
      yield;
    }
    this.#add('"');
  }

  #add(text: string): void {
    this.#text += text;
    if (this.#text.length >= pieceChars) this.#flush();
  }

  #flush(): void {
    this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }
}

/** Whether a value has so few parts that walking through it at once holds nobody up. */
export function isSmallJson(value: unknown): boolean {
  return valuesLeft(value, partValuesMax) >= 0;
}

/** Returns the rest of a budget of values after this one; negative where the budget does not suffice. */
function valuesLeft(value: unknown, budget: number, depth = 0): number {
  if (typeof value === 'string') return budget - 1 - Math.floor(value.length / valueChars);
  if (typeof value !== 'object' || value === null) return budget - 1;
  if (depth === partDepthMax) return -1;
  let left = budget - 1;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at += 1) {
      left = valuesLeft(value[at], left, depth + 1);
    }
    return left;
  }
  for (const name of Object.keys(value)) {
    left -= Math.floor(name.length / valueChars);
    left = valuesLeft((value as Readonly<Record<string, unknown>>)[name], left, depth + 1);
    if (left < 0) break;
  }
  return left;
}
