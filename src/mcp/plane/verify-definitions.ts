/** Lists the definitions of a server before a call: names that may be unknown, and changes since the last list. */
import { PlaneFault } from '../messages/plane-fault.ts';
import { unknownCapability } from '../messages/unknown-capability.ts';
import { verifyNames } from '../names/verify-names.ts';
import type { CheckedList } from '../pins/definition-checks.ts';
import { type ListedType, ListingFailed } from '../pins/list-definitions.ts';
import { listForCaller } from './bridge-modern.ts';
import type { McpExchange, SentMessages } from './mcp-exchange.ts';
import type { PlaneCall } from './plane-call.ts';
import { learnsCaller } from './plane-server.ts';
import { definitionFault } from './verify-calls.ts';

const verifiedMethods: Readonly<Record<string, ListedType>> = {
  'tools/call': 'tool',
  'prompts/get': 'prompt',
};

/**
 * Sets the fault of each call that names an unknown or disabled tool or prompt; enforced pins refuse those without
 * a list. Null when no name must be looked up.
 */
export function verifyListed(exchange: McpExchange, sent: SentMessages): Promise<void> | null {
  const { services, server, key } = exchange;
  const { capabilities, pins } = server;
  if (!capabilities.isRestricted || pins.isEnforced) return null;
  return verifyNames({
    calls: sent.calls,
    era: sent.era,
    capabilities,
    known: services.knownNames,
    place: { serverId: server.id, callerId: learnsCaller(server) ? key.id : '' },
    list: (type) => listForCaller(exchange, sent, type),
  });
}

/** Sets the fault of each call whose definition is not the approved one. */
export async function verifyDefinitions(exchange: McpExchange, sent: SentMessages): Promise<void> {
  for (const type of new Set(sent.calls.map(verifiedType))) {
    if (type === null) continue;
    const calls = sent.calls.filter((call) => verifiedType(call) === type);
    const checked = await check(exchange, sent, type);
    for (const call of calls) {
      call.fault ??= checked instanceof PlaneFault ? checked : faultIn(exchange, call, checked);
    }
  }
}

function verifiedType({ message }: PlaneCall): ListedType | null {
  return verifiedMethods[message.method] ?? null;
}

/** Null when the last list is recent enough. With `hide` a server that does not list is left as it was. */
async function check(
  exchange: McpExchange,
  sent: SentMessages,
  type: ListedType,
): Promise<CheckedList | PlaneFault | null> {
  const { services, server } = exchange;
  const { era } = sent;
  const list = () => listForCaller(exchange, sent, type);
  try {
    return await services.definitionChecks.check(server, type, services.now(), list);
  } catch (error) {
    if (!(error instanceof ListingFailed)) throw error;
    // Clients open a new session only when they are told so.
    if (era === 'legacy' && error.status === 404) {
      throw new PlaneFault('session_not_found', 'The session has ended; initialize a new one');
    }
    if (server.pins.policy === 'hide') return null;
    const text = `The definitions of the MCP server cannot be verified: ${error.message}`;
    return new PlaneFault('server_unusable', text, { cause: error });
  }
}

function faultIn(
  { server: { pins } }: McpExchange,
  { named }: PlaneCall,
  checked: CheckedList | null,
): PlaneFault | null {
  if (named === null) return null;
  const isGone = checked !== null && pins.policy === 'block' && !checked.names.has(named.name);
  return isGone ? unknownCapability(named) : definitionFault(pins, named);
}
