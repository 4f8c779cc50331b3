/** Defines a secret value that prints as its origin. */
import { inspect } from 'node:util';

/**
 * Holds a secret and its origin (`env:DB_PASS`, `file:/run/key`). `String()`, template literals,
 * `JSON.stringify` and `util.inspect` show only the origin. `reveal()` is the only access, so a
 * search for it finds every use.
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
