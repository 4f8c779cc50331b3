/** Builds what a request of the modern era needs: members of `_meta`, and headers that repeat the body. */
import { digitsOf } from '../../model/json/exact-numbers.ts';
import { isObject } from '../../model/json/read-object.ts';
import { packageVersion } from '../../package-root.ts';
import { capabilitiesMember } from './protocol-meta.ts';
import type { RpcObject } from './read-messages.ts';
import {
  firstModernVersion,
  nameMembers,
  type ParamHeaders,
  versionMember,
} from './verify-headers.ts';

const clientMember = 'io.modelcontextprotocol/clientInfo';
const logLevelMember = 'io.modelcontextprotocol/logLevel';

/** The client as a server of the modern era sees it in each request. */
export interface ModernClient {
  readonly version: string;
  readonly capabilities: RpcObject;
  /** Null for a client that gives none. */
  readonly info: RpcObject | null;
  /** Null for no log messages. */
  readonly logLevel: string | null;
}

/** The client of requests that the gateway sends for itself. */
export const gatewayClient: ModernClient = {
  version: firstModernVersion,
  capabilities: {},
  info: { name: 'gatewright', version: packageVersion() },
  logLevel: null,
};

/** The parameters with the members of `_meta` that the modern era demands; other members stay. */
export function modernParams(params: RpcObject, client: ModernClient): RpcObject {
  const { version, capabilities, info, logLevel } = client;
  const own: Record<string, unknown> = {
    ...(isObject(params._meta) ? params._meta : {}),
    [versionMember]: version,
    [capabilitiesMember]: capabilities,
  };
  if (info !== null) own[clientMember] = info;
  if (logLevel !== null) own[logLevelMember] = logLevel;
  return { ...params, _meta: own };
}

/** Headers that the modern era demands, with lower-case names. `known` are the argument headers of the tool. */
export function modernHeaders(
  method: string,
  params: RpcObject,
  version: string,
  known?: ParamHeaders,
): Record<string, string> {
  const headers: Record<string, string> = {
    'mcp-protocol-version': version,
    'mcp-method': method,
  };
  const member = nameMembers[method];
  const name = member === undefined ? undefined : params[member];
  if (typeof name === 'string') headers['mcp-name'] = encodedHeader(name);
  for (const [header, path] of known ?? []) {
    let value: unknown = params.arguments;
    for (const step of path) value = isObject(value) ? value[step] : undefined;
    const text = headerText(value);
    if (text !== null) headers[`mcp-param-${header}`] = encodedHeader(text);
  }
  return headers;
}

/** Null for a value that has no header. */
function headerText(value: unknown): string | null {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : digitsOf(value);
}

const plainValue = /^(?!=\?base64\?)[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Reverses `decodedHeader`. */
function encodedHeader(value: string): string {
  return plainValue.test(value) ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
