/** Numbers JSON values so that equal values have equal numbers. */

export class EqualValues {
  readonly #numbers = new Map<string, number>();
  /** Characters of the JSON of each value, by its number. */
  readonly #chars: number[] = [];
  readonly #ofObjects = new WeakMap<object, number>();

  numberOf(value: unknown): number {
    if (typeof value !== 'object' || value === null) {
      const text = JSON.stringify(value) ?? '';
      return this.#numberOfKey(text, text.length);
    }
    const existing = this.#ofObjects.get(value);
    if (existing !== undefined) return existing;
    const parts: string[] = [];
    let chars = 2;
    for (const [key, inner] of Object.entries(value)) {
      parts.push(`${key}:${this.numberOf(inner)}`);
      chars += this.charsOf(inner) + (Array.isArray(value) ? 1 : key.length + 4);
    }
    const key = `${Array.isArray(value) ? '[' : '{'}${parts.join(',')}`;
    const number = this.#numberOfKey(key, chars);
    this.#ofObjects.set(value, number);
    return number;
  }

  /** About how many characters the JSON of the value has. */
  charsOf(value: unknown): number {
    return this.#chars[this.numberOf(value)]!;
  }

  #numberOfKey(key: string, chars: number): number {
    const existing = this.#numbers.get(key);
    if (existing !== undefined) return existing;
    const number = this.#chars.push(chars) - 1;
    this.#numbers.set(key, number);
    return number;
  }
}
