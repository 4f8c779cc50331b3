/**
 * Refuses names of tools and prompts that a caller cannot use. Where the server has disabled ones, a name that
 * is not known to be usable is looked up in the list of the server, whatever the reason: an unknown, a disabled
 * and a foreign name cost the same work, so that their times tell nothing.
 */
import { isObject } from '../../model/json/read-object.ts';
import type { CapabilityRules, NamedCapability } from '../messages/capability-rules.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import { unknownCapability } from '../messages/unknown-capability.ts';
import type { McpEra } from '../messages/verify-headers.ts';
import { type ListedType, ListingFailed } from '../pins/list-definitions.ts';
import type { KnownNames, NamesPlace } from './known-names.ts';

/** A call that names a capability. */
interface NamingCall {
  readonly named: NamedCapability | null;
  fault: Pick<PlaneFault, 'code' | 'rpcCode' | 'message' | 'data'> | null;
}

export interface NamesAccess {
  readonly calls: readonly NamingCall[];
  readonly capabilities: CapabilityRules;
  readonly era: McpEra;
  readonly known: KnownNames;
  readonly place: NamesPlace;
  /** Lists as the caller would receive it. @throws PlaneFault, ListingFailed */
  readonly list: (type: ListedType) => Promise<RpcObject>;
}

/** A call whose name must be looked up. */
interface UnverifiedCall {
  readonly call: NamingCall;
  readonly type: ListedType;
  readonly name: string;
}

/** Sets the fault of each call whose name cannot be used. Null when all names are known to be usable. */
export function verifyNames(access: NamesAccess): Promise<void> | null {
  const unverified = unverifiedCalls(access);
  return unverified.length === 0 ? null : lookUp(access, unverified);
}

async function lookUp(access: NamesAccess, unverified: readonly UnverifiedCall[]): Promise<void> {
  for (const type of ['tool', 'prompt'] as const) {
    const own = unverified.filter((one) => one.type === type);
    if (own.length === 0) continue;
    const names = await listedNames(access, type);
    for (const { call, name } of own) {
      const named = { type, name };
      if (names instanceof PlaneFault) call.fault = names;
      else if (!names.has(name) || access.capabilities.isDisabled(named)) {
        call.fault = unknownCapability(named);
      }
    }
  }
}

function unverifiedCalls({ calls, capabilities, known, place }: NamesAccess): UnverifiedCall[] {
  return calls.flatMap((call) => {
    const { named, fault } = call;
    if (fault !== null || named === null || named.type === 'resource') return [];
    const { type, name } = named;
    if (!capabilities.restricts(type) || capabilities.isEnabled(named)) return [];
    const isUsable = known.has(place, type, name) && !capabilities.isDisabled(named);
    return isUsable ? [] : [{ call, type, name }];
  });
}

async function listedNames(
  { era, known, place, list }: NamesAccess,
  type: ListedType,
): Promise<ReadonlySet<string> | PlaneFault> {
  try {
    const result = await list(type);
    const items = result[`${type}s`] as readonly unknown[];
    const names = items.flatMap((item) =>
      isObject(item) && typeof item.name === 'string' ? [item.name] : [],
    );
    known.note(place, type, names);
    return new Set(names);
  } catch (error) {
    if (!(error instanceof ListingFailed)) throw error;
    // Clients open a new session only when they are told so.
    if (era === 'legacy' && error.status === 404) {
      return new PlaneFault('session_not_found', 'The session has ended; initialize a new one');
    }
    const text = `The name cannot be looked up in the list of the MCP server: ${error.message}`;
    return new PlaneFault('server_unusable', text, { cause: error });
  }
}
