/** Reads members of the responses of services; anything but the published form is no verdict. */
import { isObject } from '../../model/json/read-object.ts';
import { CheckError } from '../check.ts';

type Members = Readonly<Record<string, unknown>>;

/** Reads members by their path, such as `result.blocked`. */
export class AnswerMembers {
  readonly #service: string;
  readonly #answer: Members;

  constructor(service: string, answer: Members) {
    this.#service = service;
    this.#answer = answer;
  }

  /** Undefined for a missing member. */
  at(path: string): unknown {
    let value: unknown = this.#answer;
    for (const name of path.split('.')) {
      if (Array.isArray(value) && /^\d+$/.test(name)) value = value[Number(name)];
      else value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    }
    return value;
  }

  /** @throws CheckError for anything but a boolean */
  flag(path: string): boolean {
    const value = this.at(path);
    return typeof value === 'boolean' ? value : this.fail(path);
  }

  /** @throws CheckError for anything but a text */
  text(path: string): string {
    const value = this.at(path);
    return typeof value === 'string' ? value : this.fail(path);
  }

  /** @throws CheckError for a text that is none of the words, in lower case */
  word(path: string, words: readonly string[]): string {
    const value = this.text(path).toLowerCase();
    return words.includes(value) ? value : this.fail(path);
  }

  /** @throws CheckError for anything but a number */
  number(path: string): number {
    const value = this.at(path);
    return typeof value === 'number' ? value : this.fail(path);
  }

  /** @throws CheckError for anything but an object */
  object(path: string): Members {
    const value = this.at(path);
    return isObject(value) ? value : this.fail(path);
  }

  /** @throws CheckError for anything but a list */
  list(path: string): readonly unknown[] {
    const value = this.at(path);
    return Array.isArray(value) ? value : this.fail(path);
  }

  /** The items of a list as answers of their own. @throws CheckError for anything but a list of objects */
  items(path: string): AnswerMembers[] {
    return this.list(path).map((item) =>
      isObject(item) ? new AnswerMembers(this.#service, item) : this.fail(path),
    );
  }

  /** One item for each thing that was sent. @throws CheckError for more or fewer of them */
  itemsFor(sent: readonly unknown[], path: string): AnswerMembers[] {
    const items = this.items(path);
    return items.length === sent.length ? items : this.fail(path);
  }

  /** @throws CheckError that says which member has an unknown form */
  fail(path: string): never {
    throw new CheckError(`${this.#service} returned a response without a valid ${path}`);
  }
}

/** The names of the members that are true or objects with `member` true. */
export function trueNames(flags: Members): string[] {
  return Object.keys(flags).filter((name) => flags[name] === true);
}
