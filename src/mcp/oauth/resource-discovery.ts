/** Finds the authorization servers of an MCP server by its protected resource metadata (RFC 9728). */
import { postHeaders } from '../messages/post-headers.ts';
import { type BearerChallenge, readBearerChallenge, readScope } from './challenge.ts';
import { OAuthFault } from './oauth-fault.ts';
import { fetchDocument, type OAuthRequests, sendOAuthRequest, shortUrl } from './oauth-http.ts';

/** How an MCP server is authorized. */
export interface ResourceAuthorization {
  /** Value of `resource` in requests for tokens. */
  readonly resource: string;
  /** Issuers, in the order of preference. */
  readonly issuers: readonly string[];
  /** Scope that the server demands; null when it names none. */
  readonly scope: string | null;
}

const wellKnown = '/.well-known/oauth-protected-resource';
const issuersMax = 3;
const scopesMax = 100;

/** @throws OAuthFault */
export async function discoverResource(
  requests: OAuthRequests,
  server: URL,
): Promise<ResourceAuthorization> {
  const challenge = await probe(requests, server);
  const metadata = await findMetadata(requests, server, challenge.resourceMetadata);
  if (metadata === null) {
    // Servers of 2025-03-26 are their own authorization servers.
    return { resource: ownResource(server), issuers: [server.origin], scope: challenge.scope };
  }
  const { document, at } = metadata;
  const { authorization_servers: listed, resource, scopes_supported: scopes } = document;
  requireOwnResource(server, resource, at);
  const issuers = (Array.isArray(listed) ? listed : [])
    .filter((one): one is string => typeof one === 'string')
    .slice(0, issuersMax);
  if (issuers.length === 0) throw new OAuthFault(`${at} names no authorization server`);
  const supported = Array.isArray(scopes) && scopes.length <= scopesMax ? scopes.join(' ') : null;
  return {
    resource: typeof resource === 'string' ? resource : ownResource(server),
    issuers,
    scope: challenge.scope ?? readScope(supported),
  };
}

/** Messages that a server may answer without a token, the usual one first. */
const probes = [
  {
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'gatewright', version: '1' },
    },
  },
  { method: 'tools/list', params: {} },
];

/** Asks the server without a token until it shows its challenge; some servers open sessions without one. */
async function probe(requests: OAuthRequests, server: URL): Promise<BearerChallenge> {
  for (const message of probes) {
    const { status, headers } = await sendOAuthRequest(requests, {
      url: server.href,
      method: 'POST',
      headers: postHeaders,
      body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })),
    });
    if (status === 401) return readBearerChallenge(headers['www-authenticate']);
  }
  return readBearerChallenge(undefined);
}

async function findMetadata(requests: OAuthRequests, server: URL, named: string | null) {
  const { origin, pathname } = server;
  const path = pathname.replace(/\/+$/, '');
  const places =
    named === null
      ? [...new Set([`${origin}${wellKnown}${path}`, `${origin}${wellKnown}`])]
      : [named];
  for (const at of places) {
    const document = await fetchDocument(requests, at);
    if (document !== null) return { document, at: shortUrl(at) };
  }
  if (named === null) return null;
  throw new OAuthFault(`${shortUrl(named)}, which the server names, does not exist`);
}

function ownResource({ href }: URL): string {
  return href.endsWith('/') ? href.slice(0, -1) : href;
}

/** Tokens for another server are never requested: the resource must be the server, or a path above it. */
function requireOwnResource(server: URL, resource: unknown, at: string): void {
  if (resource === undefined) return;
  const url = typeof resource === 'string' ? URL.parse(resource) : null;
  const above = (url?.pathname ?? '').replace(/\/+$/, '');
  const isOwn =
    url !== null &&
    url.origin === server.origin &&
    `${server.pathname.replace(/\/+$/, '')}/`.startsWith(`${above}/`);
  if (!isOwn) throw new OAuthFault(`${at} describes another resource`);
}
