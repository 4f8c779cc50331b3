/**
 * Remembers which tools and prompts a server has listed, so that a call of one of them needs no further list, and the
 * headers of arguments of a server that has never been synchronised.
 */
import { isObject } from '../../model/json/read-object.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import { type ParamHeaders, paramHeadersIn } from '../messages/verify-headers.ts';
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
  /** Headers of arguments by server and tool. */
  readonly #headers = new Map<string, ReadonlyMap<string, ParamHeaders>>();

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

  /** Undefined for a tool that the server has not listed here. */
  headersOf(serverId: string, tool: string): ParamHeaders | undefined {
    return this.#headers.get(serverId)?.get(tool);
  }

  /** Replaces the headers of all tools of the server by those in a list of them. */
  noteHeaders(serverId: string, { tools }: RpcObject): void {
    const items = (Array.isArray(tools) ? tools : []).filter(isObject).slice(0, namesMax);
    const headers = items.map(
      (tool) => [String(tool.name), paramHeadersIn(tool.inputSchema)] as const,
    );
    this.#headers.delete(serverId);
    this.#headers.set(serverId, new Map(headers));
    if (this.#headers.size > placesMax) this.#headers.delete(this.#headers.keys().next().value!);
  }
}

function keyOf({ serverId, callerId }: NamesPlace, type: ListedType): string {
  return `${type} ${serverId} ${callerId}`;
}
