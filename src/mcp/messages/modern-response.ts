/** Forms messages of the modern era from those of a legacy server. */
import { isObject } from '../../model/json/read-object.ts';
import { PlaneFault } from './plane-fault.ts';
import type { RpcObject } from './read-messages.ts';
import { firstModernVersion } from './verify-headers.ts';

const serverInfoMember = 'io.modelcontextprotocol/serverInfo';
const subscriptionMember = 'io.modelcontextprotocol/subscriptionId';
const [legacyNotFound, invalidParams, methodNotFound] = [-32002, -32602, -32601];

/** Methods whose results state how long they may be cached. */
const cacheableMethods: ReadonlySet<string> = new Set([
  'prompts/list',
  'resources/list',
  'resources/read',
  'resources/templates/list',
  'server/discover',
  'tools/list',
]);

/** Capabilities of servers that exist in both eras. */
const sharedCapabilities = [
  'completions',
  'experimental',
  'logging',
  'prompts',
  'resources',
  'tools',
];

/** The result of `server/discover` for a server that has answered `initialize`. */
export function discoverResult(initialized: RpcObject): RpcObject {
  const { capabilities, instructions } = initialized;
  const declared = isObject(capabilities) ? capabilities : {};
  const result = {
    supportedVersions: [firstModernVersion],
    capabilities: Object.fromEntries(
      Object.entries(declared).filter(([name]) => sharedCapabilities.includes(name)),
    ),
    ...(typeof instructions === 'string' && { instructions }),
  };
  return modernResult('server/discover', result, initialized);
}

/** `initialized` is the server's answer to `initialize`, which names the server. */
export function modernResult(method: string, result: RpcObject, initialized: RpcObject): RpcObject {
  const { _meta: meta, tools } = result;
  // A legacy server cannot say for how long a list is valid, nor for whom.
  const caching = cacheableMethods.has(method) ? { ttlMs: 0, cacheScope: 'private' } : {};
  const lists = method === 'tools/list' && Array.isArray(tools) ? { tools: tools.map(asTool) } : {};
  return {
    ...result,
    ...lists,
    ...caching,
    resultType: 'complete',
    _meta: { ...(isObject(meta) ? meta : {}), ...serverInfoMeta(initialized) },
  };
}

/** The result that asks the client for input. */
export function inputRequiredResult(
  inputRequests: RpcObject,
  requestState: string,
  initialized: RpcObject,
): RpcObject {
  return {
    resultType: 'input_required',
    inputRequests,
    requestState,
    _meta: serverInfoMeta(initialized),
  };
}

function serverInfoMeta({ serverInfo }: RpcObject): RpcObject {
  return isObject(serverInfo) ? { [serverInfoMember]: serverInfo } : {};
}

/** The modern era has no tasks of tools, which `execution` describes. */
function asTool(tool: unknown): unknown {
  if (!isObject(tool)) return tool;
  const { execution: _, ...others } = tool;
  return others;
}

/** The error with the code of the modern era. */
export function modernError(error: RpcObject, params: RpcObject): RpcObject {
  if (error.code !== legacyNotFound) return error;
  const data = isObject(error.data) ? error.data : {};
  const uri = typeof params.uri === 'string' ? { uri: params.uri } : {};
  return { ...error, code: invalidParams, data: { ...uri, ...data } };
}

/** HTTP status of a response; 200 unless the modern era demands another one. */
export function statusOf({ error }: RpcObject): number {
  return isObject(error) && error.code === methodNotFound ? 404 : 200;
}

/** The notification as part of a subscription. */
export function subscribedMessage(message: RpcObject, subscriptionId: unknown): RpcObject {
  const params = isObject(message.params) ? message.params : {};
  const meta = isObject(params._meta) ? params._meta : {};
  return {
    ...message,
    params: { ...params, _meta: { ...meta, [subscriptionMember]: subscriptionId } },
  };
}

/** The result that ends a subscription. */
export function subscriptionEnd(subscriptionId: unknown, initialized: RpcObject): RpcObject {
  const meta = { [subscriptionMember]: subscriptionId, ...serverInfoMeta(initialized) };
  return { jsonrpc: '2.0', id: subscriptionId, result: { resultType: 'complete', _meta: meta } };
}

/** `Client does not support sampling (required for …)`, as the SDKs of the legacy era say it. */
const unsupported =
  /\bclient does not support (?:listing |form |url )?(sampling|elicitation|roots)\b/i;

/**
 * The error for a response that says in words that the client lacks a capability, which the modern era says
 * with a code; null for any other response.
 */
export function capabilityFault(
  { error, result }: RpcObject,
  declared: RpcObject,
): PlaneFault | null {
  const name = unsupported.exec(refusalText(error, result))?.[1]?.toLowerCase();
  if (name === undefined || declared[name] !== undefined) return null;
  const data = { requiredCapabilities: { [name]: {} } };
  return new PlaneFault('capability_missing', `The client does not support ${name}`, { data });
}

/** The text of an error, or of a result that reports one by a single text. */
function refusalText(error: unknown, result: unknown): string {
  if (isObject(error)) return String(error.message);
  if (!isObject(result) || result.isError !== true || !Array.isArray(result.content)) return '';
  const [only, ...more] = result.content as unknown[];
  return more.length === 0 && isObject(only) ? String(only.text) : '';
}
