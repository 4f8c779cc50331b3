/** Translates messages of a modern server into those that a legacy client expects. */
import { isObject } from '../../model/json/read-object.ts';
import type { ServerDiscovery } from '../messages/era-evidence.ts';
import type { RpcId } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import { hasValidParamHeaders } from '../messages/verify-headers.ts';
import type { LegacySession } from './legacy-session.ts';

/** Capabilities of servers that mean the same in both eras. */
const sharedCapabilities = ['tools', 'prompts', 'resources', 'completions', 'logging'];
const ownMembers = ['io.modelcontextprotocol/serverInfo', 'io.modelcontextprotocol/subscriptionId'];

const [notFound, invalidParams, internalError] = [-32002, -32602, -32603];
/** Errors of the modern era: header mismatch and unsupported version. The gateway has built the request. */
const gatewayErrors: ReadonlySet<unknown> = new Set([-32020, -32022]);
const [missingCapability, invalidRequest] = [-32021, -32600];

/** The result of `initialize`. */
export function initializeResult(discovery: ServerDiscovery, session: LegacySession): RpcObject {
  const capabilities = Object.fromEntries(
    sharedCapabilities.flatMap((name) => {
      const value = discovery.capabilities[name];
      return isObject(value) ? [[name, value]] : [];
    }),
  );
  return {
    protocolVersion: session.version,
    capabilities,
    serverInfo: discovery.info,
    ...(discovery.instructions === null ? {} : { instructions: discovery.instructions }),
  };
}

/** The response with the id of the client's request. */
export function legacyResponse(response: RpcObject, method: string, id: RpcId): RpcObject {
  const { result, error } = response;
  if (isObject(error)) return { jsonrpc: '2.0', id, error: legacyError(error, method) };
  return { jsonrpc: '2.0', id, result: isObject(result) ? legacyResult(result) : {} };
}

function legacyResult(result: RpcObject): RpcObject {
  const { resultType: _, ttlMs: __, cacheScope: ___, _meta: meta, ...rest } = result;
  const own = legacyMeta(meta);
  return own === null ? rest : { ...rest, _meta: own };
}

/** Leaves out tools whose headers no client could send. Called after rules have seen the whole list. */
export function withoutInvalidTools(response: unknown, method: string): unknown {
  if (method !== 'tools/list' || !isObject(response) || !isObject(response.result)) return response;
  const { tools } = response.result;
  if (!Array.isArray(tools)) return response;
  return { ...response, result: { ...response.result, tools: tools.filter(hasValidHeaders) } };
}

function hasValidHeaders(tool: unknown): boolean {
  return !isObject(tool) || hasValidParamHeaders(tool.inputSchema);
}

/** Null when nothing is left. */
function legacyMeta(meta: unknown): RpcObject | null {
  if (!isObject(meta)) return null;
  const rest = Object.entries(meta).filter(([name]) => !ownMembers.includes(name));
  return rest.length === 0 ? null : Object.fromEntries(rest);
}

function legacyError(error: RpcObject, method: string): RpcObject {
  const { code } = error;
  if (code === invalidParams && method === 'resources/read') return { ...error, code: notFound };
  if (gatewayErrors.has(code)) return { ...error, code: internalError };
  return code === missingCapability ? { ...error, code: invalidRequest } : error;
}

/** A notification; null for one that the legacy era does not have. */
export function legacyNotification(message: RpcObject): RpcObject | null {
  const { method, params } = message;
  if (typeof method !== 'string' || 'id' in message) return null;
  if (method === 'notifications/subscriptions/acknowledged') return null;
  if (!isObject(params)) return { jsonrpc: '2.0', method };
  const { _meta: meta, ...rest } = params;
  const own = legacyMeta(meta);
  const all = own === null ? rest : { ...rest, _meta: own };
  return Object.keys(all).length === 0
    ? { jsonrpc: '2.0', method }
    : { jsonrpc: '2.0', method, params: all };
}
