/** Remembers which tools and prompts a server has listed, so that a call of one of them needs no further list. */
import type { ListedType } from '../pins/list-definitions.ts';

/** The server, and the caller where the list depends on who asks. */
export interface NamesPlace {
  readonly serverId: string;
  /** Empty for a server that lists the same to everybody. */
  readonly callerId: string;
}

const placesMax = 2_000;
const namesMax = 20_000;

export class KnownNames {
  readonly #names = new Map<string, ReadonlySet<string>>();

  has(place: NamesPlace, type: ListedType, name: string): boolean {
    return this.#names.get(keyOf(place, type))?.has(name) === true;
  }

  /** Replaces what the server has listed before. */
  note(place: NamesPlace, type: ListedType, names: Iterable<string>): void {
    const key = keyOf(place, type);
    this.#names.delete(key);
    this.#names.set(key, new Set([...names].slice(0, namesMax)));
    if (this.#names.size > placesMax) this.#names.delete(this.#names.keys().next().value!);
  }
}

function keyOf({ serverId, callerId }: NamesPlace, type: ListedType): string {
  return `${type} ${serverId} ${callerId}`;
}
