/** Decides whether a caller may use a server and what its messages name, and reserves the limits of its calls. */
import type { IncomingHttpHeaders } from 'node:http';
import { authenticate } from '../../gateway/callers/authenticate.ts';
import type { GatewayKey } from '../../gateway/callers/gateway-key.ts';
import { CheckError } from '../../guardrails/check.ts';
import { noToken, type TokenVerifier } from '../../guardrails/token-check.ts';
import { hasUnreadableName, type NamedCapability } from '../messages/capability-rules.ts';
import { PlaneFault, serverUnusable } from '../messages/plane-fault.ts';
import { unjudgedMethods } from '../messages/unjudged-methods.ts';
import { unknownCapability } from '../messages/unknown-capability.ts';
import type { ServerPins } from '../pins/server-pins.ts';
import { mcpScope } from '../resource/protected-resource.ts';
import { reserveCall } from './call-limits.ts';
import type { McpExchange } from './mcp-exchange.ts';
import type { PlaneCall } from './plane-call.ts';
import { rpcFaultOf } from './plane-reply.ts';
import type { PlaneServer } from './plane-server.ts';
import type { PlaneServices } from './plane-services.ts';
import { closedGuardrail, isUnjudged } from './server-guardrails.ts';

/** @throws GatewayError when the key or token may not be used at this server */
export function authenticateCaller(
  services: Pick<PlaneServices, 'keys' | 'tokens' | 'resource'>,
  sent: string | null,
  slug: string,
  now: number,
): GatewayKey | Promise<GatewayKey> {
  const audiences = services.resource.audiencesOf(slug);
  return authenticate(services, { key: sent }, now, mcpScope, audiences);
}

/**
 * A key without a user has the access of users who are not listed.
 *
 * @throws PlaneFault
 */
export function requireServerUser(key: Pick<GatewayKey, 'personId'>, server: PlaneServer): void {
  const own = key.personId === null ? undefined : server.users.get(key.personId);
  if (own ?? server.allowsUnlistedUsers) return;
  throw new PlaneFault('user_forbidden', 'The user of this key may not use this MCP server');
}

/** @throws PlaneFault for a server whose configuration needs a feature that the gateway lacks */
export function requireUsableServer({ fault }: PlaneServer): void {
  if (fault !== null) throw serverUnusable(fault);
}

/** @throws PlaneFault for a request without the token that `jwt_validation` or `external_auth_config` requires */
export async function requireValidToken(
  { resource }: Pick<PlaneServices, 'resource'>,
  server: PlaneServer,
  verifyToken: TokenVerifier,
  headers: IncomingHttpHeaders,
): Promise<void> {
  const { slug, externalAuth: external } = server;
  const audiences = external === null ? [] : resource.externalAudiencesOf(slug, external);
  if (external !== null && audiences.length === 0) {
    const why = 'its external_auth_config needs GATEWRIGHT_MCP_URL, or an audience';
    throw serverUnusable(why);
  }
  const recipient = external && { issuer: external.issuer, audiences };
  const { passes, explanation } = await verifyToken(headers, recipient).catch((error: unknown) => {
    if (!(error instanceof CheckError)) throw error;
    const message = `The token for this MCP server cannot be verified now: ${error.message}`;
    throw new PlaneFault('token_unverified', message, { cause: error });
  });
  if (passes) return;
  const error = explanation === noToken ? null : 'invalid_token';
  const setting = external === null ? 'jwt_validation' : 'external_auth_config';
  const message = `This MCP server requires a token (${setting}): ${explanation}`;
  const challenge =
    external === null
      ? 'Bearer error="invalid_token"'
      : resource.externalChallenge(error, slug, external);
  throw new PlaneFault('token_invalid', message, { headers: { 'www-authenticate': challenge } });
}

/** Sets the fault of each call that names a capability that may not be used. */
export function verifyCapabilities(server: PlaneServer, calls: readonly PlaneCall[]): void {
  for (const call of calls) call.fault = capabilityFault(server, call);
}

function capabilityFault(server: PlaneServer, call: PlaneCall): PlaneFault | null {
  const { capabilities, guardrails, pins } = server;
  const { named, message } = call;
  const unjudged = unjudgedFault(server, call);
  if (unjudged !== null) return unjudged;
  if (call.isToolCall && guardrails.fault !== null) {
    return new PlaneFault('server_unusable', `The call cannot be judged: ${guardrails.fault}`);
  }
  if (named === null) {
    const isRestricted = capabilities.isRestricted || pins.isEnforced;
    if (call.isLogged || (isRestricted && hasUnreadableName(message))) {
      return new PlaneFault('unknown_capability', 'The name is missing');
    }
    const isListen = message.method === 'subscriptions/listen';
    const { _meta: _, ...params } = message.params;
    return isListen && capabilities.namesDisabledUri(params)
      ? new PlaneFault('unknown_capability', 'Unknown resource')
      : null;
  }
  // Tools and prompts are looked up by mcp/names/verify-names.ts unless pins decide.
  const isDecidedHere = named.type === 'resource' || pins.isEnforced;
  if (isDecidedHere && capabilities.isDisabled(named)) return unknownCapability(named);
  const definition = definitionFault(pins, named);
  if (definition !== null) return definition;
  if (named.type === 'resource' && capabilities.unaddressed.length > 0) {
    const message = `The address of the disabled resource ${capabilities.unaddressed[0]} is unknown; synchronise the integration`;
    return new PlaneFault('server_unusable', message);
  }
  if (call.isLogged && isUnjudged(guardrails, named)) {
    const message = `A guardrail is mapped to this ${named.type}, but guardrails judge tool calls only`;
    return new PlaneFault('server_unusable', message);
  }
  return null;
}

/** Refuses what no guardrail judges where one fails closed. */
function unjudgedFault(
  { guardrails }: PlaneServer,
  { message: { method } }: PlaneCall,
): PlaneFault | null {
  const closed = unjudgedMethods.has(method) ? closedGuardrail(guardrails) : null;
  if (closed === null) return null;
  const text = `The guardrail ${closed.id} fails closed, and guardrails do not judge ${method}; map it to tools to use both`;
  return new PlaneFault('guardrail_denied', text);
}

/** Only `block` tells a changed definition from an unknown name. */
export function definitionFault(pins: ServerPins, named: NamedCapability): PlaneFault | null {
  const refusal = pins.refusalOf(named);
  if (refusal === null) return null;
  if (refusal === 'unapproved' || pins.policy === 'hide') return unknownCapability(named);
  const message = `The definition of the ${named.type} ${named.name} has changed since it was approved`;
  return new PlaneFault('definition_changed', message);
}

/** Reserves every tool call. When one cannot be reserved, it gets the fault, and none is sent. */
export async function reserveCalls(
  { services, key, server, metadata, arrival }: McpExchange,
  calls: readonly PlaneCall[],
): Promise<void> {
  for (const call of calls) {
    if (!call.isToolCall) continue;
    const { retried } = call;
    const { params } = call.message;
    const tool = String(params.name);
    const limited = { key, server, tool, params, metadata, retried, now: arrival.now };
    try {
      call.reserved = await reserveCall(services, limited);
    } catch (thrown) {
      const fault = rpcFaultOf(services, thrown, arrival.slug);
      if (fault === null) throw thrown;
      call.fault = fault;
      return;
    }
  }
}
