/** Compares what a server lists with its approved definitions, and decides what callers may see and use of it. */
import { isObject } from '../../model/json/read-object.ts';
import { type Definition, readDefinition } from '../../model/mcp/definition.ts';
import type { DefinitionPolicy, PinnedDigests } from '../../model/mcp/definition-state.ts';
import type { McpCapabilityType } from '../../model/mcp/mcp-integration.ts';
import { listedTypes, type NamedCapability } from '../messages/capability-rules.ts';
import type { RpcObject } from '../messages/read-messages.ts';

export interface ServerPinsOptions {
  readonly policy: DefinitionPolicy;
  /** Whether the first definitions have been approved. */
  readonly isTaken: boolean;
  readonly digests: readonly (PinnedDigests & {
    readonly type: McpCapabilityType;
    readonly name: string;
  })[];
}

/** A list as callers may see it. */
interface ExaminedList {
  /** The same object when nothing is removed. */
  readonly result: RpcObject;
  /** Definitions that differ from the newest ones known. */
  readonly seen: readonly Definition[];
}

const seenMax = 20_000;
const listNames = Object.keys(listedTypes) as (keyof typeof listedTypes)[];

export class ServerPins {
  readonly policy: DefinitionPolicy;
  /** Whether there are definitions to compare with. */
  readonly isTaken: boolean;
  readonly #approved: ReadonlyMap<string, string>;
  /** Digests of the newest definitions; changed by every list, before the database knows. */
  readonly #seen: Map<string, string>;
  readonly #marks = new Map<McpCapabilityType, string>();

  constructor({ policy, isTaken, digests }: ServerPinsOptions) {
    this.policy = policy;
    this.isTaken = isTaken;
    const digestsBy = (column: keyof PinnedDigests): Map<string, string> =>
      new Map(
        digests.flatMap((one) => {
          const digest = one[column];
          return digest === null ? [] : [[identityOf(one), digest] as const];
        }),
      );
    this.#approved = digestsBy('approved_digest');
    this.#seen = digestsBy('seen_digest');
  }

  /** Whether definitions that are not approved are kept from callers. */
  get isEnforced(): boolean {
    return this.policy !== 'observe';
  }

  /** Equal texts mean that callers see the same definitions of the type. */
  visibleMark(type: McpCapabilityType): string {
    let mark = this.#marks.get(type);
    if (mark === undefined) {
      const visible = [...this.#approved].filter(
        ([identity, digest]) =>
          identity.startsWith(`${type} `) && (this.#seen.get(identity) ?? digest) === digest,
      );
      mark = this.isEnforced ? JSON.stringify(visible.toSorted()) : '';
      this.#marks.set(type, mark);
    }
    return mark;
  }

  /**
   * Why the capability may not be used: it has no approved definition, or its newest definition is
   * another one. Resources need an approved definition only once one is known.
   */
  refusalOf(named: NamedCapability): 'unapproved' | 'drifted' | null {
    if (!this.isEnforced) return null;
    if (named.type === 'resource') {
      // A completion names a template by its address.
      const types = ['resource', 'resource_template'];
      const isChanged = types.some(
        (type) => this.#refusalOf(`${type} ${named.name}`) === 'drifted',
      );
      return isChanged ? 'drifted' : null;
    }
    return this.#refusalOf(identityOf(named));
  }

  #refusalOf(identity: string): 'unapproved' | 'drifted' | null {
    const approved = this.#approved.get(identity);
    const seen = this.#seen.get(identity);
    if (approved === undefined) return 'unapproved';
    return seen === undefined || seen === approved ? null : 'drifted';
  }

  /** Notes the definitions of a result that lists capabilities, and removes those that are kept from callers. */
  examine(result: RpcObject): ExaminedList {
    const seen = new Map<string, Definition>();
    let changed: Record<string, unknown> | null = null;
    for (const list of listNames) {
      const items = result[list];
      if (!Array.isArray(items)) continue;
      const rest = items.filter((item) => this.#isTrusted(listedTypes[list], item, seen));
      if (this.isEnforced && rest.length < items.length) {
        changed = { ...(changed ?? result), [list]: rest };
      }
    }
    const news = [...seen].filter(
      ([identity, { digest }]) => this.#seen.get(identity) !== digest && this.#hasRoom(identity),
    );
    for (const [identity, { digest }] of news) this.#seen.set(identity, digest);
    return { result: changed ?? result, seen: news.map(([, definition]) => definition) };
  }

  /** A server can list any number of definitions that are not approved. */
  #hasRoom(identity: string): boolean {
    return this.#approved.has(identity) || this.#seen.has(identity) || this.#seen.size < seenMax;
  }

  /** When two items have one name, the one that is not trusted counts. */
  #isTrusted(type: McpCapabilityType, item: unknown, seen: Map<string, Definition>): boolean {
    const definition = isObject(item) ? readDefinition(type, item) : null;
    if (definition === null) return false;
    const identity = identityOf(definition);
    const approved = this.#approved.get(identity);
    // Resources come and go as data does: a sync approves new ones.
    if (type === 'resource' && approved === undefined) return true;
    const isTrusted = approved === definition.digest;
    const other = seen.get(identity);
    if (other === undefined || other.digest === approved) seen.set(identity, definition);
    return isTrusted;
  }
}

function identityOf({ type, name }: { readonly type: string; readonly name: string }): string {
  return `${type} ${name}`;
}
