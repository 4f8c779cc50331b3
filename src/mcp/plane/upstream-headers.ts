/** Builds the headers of a request to an MCP server: what the caller may forward, the integration's own, and those of the protocol. */
import type { IncomingHttpHeaders } from 'node:http';
import { headerText } from '../../auth/mapped-fields.ts';
import type { SecretValueCache } from '../../gateway/targets/secret-value-cache.ts';
import type { ForwardHeaders } from '../../model/mcp/mcp-integration.ts';
import { headerNameFault } from '../../model/services/forward-headers.ts';
import type { Secret } from '../../secret.ts';
import { SecretUnreadable, textOf } from '../../secret-managers/managed-secret.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import type { PlaneServer } from './plane-server.ts';

export interface UpstreamHeadersRequest {
  readonly server: PlaneServer;
  readonly callerHeaders: IncomingHttpHeaders;
  /** Credentials of the caller, which never reach the server under any name. */
  readonly credentials: readonly string[];
  /** Token that the gateway has obtained for the server, or that of its user; null for none. */
  readonly token: Secret | null;
  /** Header that says who calls. */
  readonly identity: Readonly<Record<string, string>>;
  /** Headers of the protocol, which take precedence. */
  readonly protocol: Readonly<Record<string, string>>;
}

/**
 * Synchronous for a server without secrets of a manager.
 *
 * @throws PlaneFault when a secret cannot be read
 */
export function upstreamHeaders(
  wanted: UpstreamHeadersRequest,
  secrets: Pick<SecretValueCache, 'peek' | 'get'>,
): Record<string, string> | Promise<Record<string, string>> {
  const { headers, mapped } = wanted.server.access.reveal();
  if (mapped.length === 0) return mergedHeaders(wanted, { ...headers });
  return managedHeaders(wanted, secrets).then((own) => mergedHeaders(wanted, own));
}

/** The headers with the credentials of the integration, some of which a secret manager holds. */
async function managedHeaders(
  { server }: UpstreamHeadersRequest,
  secrets: Pick<SecretValueCache, 'peek' | 'get'>,
): Promise<Record<string, string>> {
  const { headers, mapped } = server.access.reveal();
  const own: Record<string, string> = { ...headers };
  for (const { target, place, secretKey, slug } of mapped) {
    try {
      const secret = secrets.peek(place) ?? (await secrets.get(place));
      own[target[1]!.toLowerCase()] = headerText(textOf(secret, secretKey));
    } catch (error) {
      throw unreadable(slug, error);
    }
  }
  return own;
}

function mergedHeaders(
  { server, callerHeaders, credentials, token, identity, protocol }: UpstreamHeadersRequest,
  own: Record<string, string>,
): Record<string, string> {
  const { passthrough } = server.access.reveal();
  if (token !== null) own.authorization = `Bearer ${token.reveal()}`;
  const forwarded = forwardedHeaders(server.forward, callerHeaders, credentials);
  return { ...forwarded, ...own, ...passthrough, ...identity, ...protocol };
}

function unreadable(slug: string, cause: unknown): PlaneFault {
  const isSilence = cause instanceof SecretUnreadable && cause.isUnavailable;
  const why = isSilence
    ? 'its secret manager does not respond'
    : 'its secret manager returned no suitable value';
  const message = `The secret ${slug} of the MCP server cannot be read: ${why}`;
  return new PlaneFault('server_unusable', message, { cause });
}

/** Headers of the connection and of the protocol, which are never the caller's to forward; `-` stands for `_` too. */
const protocolHeader =
  /^(?:accept(?:-.*)?|content-.*|mcp-.*|last-event-id|origin|referer|date|range|if-.*|sec-.*|access-control-.*|x-portkey-.*)$/;

/** Servers behind CGI and its successors read `mcp_name` as `mcp-name`. */
function isProtocolHeader(name: string): boolean {
  return protocolHeader.test(name.replaceAll('_', '-'));
}

function forwardedHeaders(
  forward: ForwardHeaders | null,
  headers: IncomingHttpHeaders,
  credentials: readonly string[],
): Record<string, string> {
  if (forward === null) return {};
  const found: Record<string, string> = {};
  for (const [from, to] of forwardedNames(forward, headers)) {
    const value = headers[from];
    const isAllowed = [from, to].every(
      (name) => !isProtocolHeader(name) && headerNameFault(name, 'forwarded') === null,
    );
    if (!isAllowed || typeof value !== 'string') continue;
    if (credentials.some((credential) => value.includes(credential))) continue;
    found[to] = value;
  }
  return found;
}

/** Pairs of names in lower case. */
function forwardedNames(
  forward: ForwardHeaders,
  headers: IncomingHttpHeaders,
): (readonly [from: string, to: string])[] {
  const listed = Array.isArray(forward) ? forward : forward.headers;
  const pairs = listed.map((one) =>
    typeof one === 'string'
      ? ([one.toLowerCase(), one.toLowerCase()] as const)
      : ([one.from.toLowerCase(), one.to.toLowerCase()] as const),
  );
  if (Array.isArray(forward) || forward.mode === 'allowlist') return pairs;
  const excepted = new Set(pairs.map(([from]) => from));
  return Object.keys(headers)
    .filter((name) => !excepted.has(name))
    .map((name) => [name, name] as const);
}
