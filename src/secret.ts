/** Knows a value that must never be printed: every way of showing it yields its origin instead. */
import { inspect } from 'node:util';

/**
 * Holds a secret and where it came from (`env:DB_PASS`, `file:/run/key`). `String()`, template
 * literals, `JSON.stringify` and `util.inspect` show only the origin; `reveal()` is the one way in,
 * so a search for it finds every use.
 */
export class Secret<T = string> {
  readonly origin: string;
  readonly #value: T;

  constructor(value: T, origin: string) {
    this.#value = value;
    this.origin = origin;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return `(secret ${this.origin})`;
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }
}
