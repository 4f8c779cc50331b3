/** Reads and verifies the metadata of an authorization server (RFC 8414, OpenID Connect Discovery). */
import type { OAuthMetadata } from '../../model/mcp/external-auth.ts';
import { OAuthFault } from './oauth-fault.ts';
import { fetchDocument, type OAuthRequests, requireTlsOrTrust, shortUrl } from './oauth-http.ts';

export interface AuthorizationServer {
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  /** Null when clients cannot register themselves. */
  readonly registrationEndpoint: string | null;
  readonly revocationEndpoint: string | null;
  /** Methods by which clients authenticate at the token endpoint; null when the metadata lists none. */
  readonly authMethods: readonly string[] | null;
  readonly scopes: readonly string[];
  /** Whether a client id may be the address of a metadata document. */
  readonly acceptsClientMetadata: boolean;
  /** Whether every response to an authorization names the issuer (RFC 9207). */
  readonly namesIssuer: boolean;
}

const addressCharsMax = 2048;

/** An authorization server that issues tokens to the gateway itself. */
export interface TokenIssuer {
  readonly issuer: string;
  readonly tokenEndpoint: string;
  /** How a client with a secret authenticates; RFC 8414: by HTTP Basic where nothing is listed. */
  readonly secretMethod: 'client_secret_basic' | 'client_secret_post';
}

/** An issuer, and members in place of those that its metadata contain. */
export interface NamedIssuer {
  readonly issuer: string;
  readonly replacing: OAuthMetadata | null;
}

/** @throws OAuthFault */
export async function discoverServer(
  requests: OAuthRequests,
  named: NamedIssuer,
): Promise<AuthorizationServer> {
  const { issuer } = named;
  const { document, at } = await completeMetadata(requests, named);
  const server = readServerMetadata(document, issuer, at);
  requireTlsOrTrust(server.authorizationEndpoint, requests.trusted);
  return server;
}

/** Like {@link discoverServer}, for logins without a user. @throws OAuthFault */
export async function discoverTokenIssuer(
  requests: OAuthRequests,
  named: NamedIssuer,
): Promise<TokenIssuer> {
  const { issuer } = named;
  const { document, at } = await completeMetadata(requests, named);
  const tokenEndpoint = requireEndpoint(document, 'token_endpoint', at);
  requireTlsOrTrust(tokenEndpoint, requests.trusted);
  const methods = textsOf(document.token_endpoint_auth_methods_supported);
  const isPosted =
    methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
  return {
    issuer,
    tokenEndpoint,
    secretMethod: isPosted ? 'client_secret_post' : 'client_secret_basic',
  };
}

/** Address of the keys with which an issuer signs. @throws OAuthFault */
export async function discoverKeySet(requests: OAuthRequests, issuer: string): Promise<string> {
  const { document, at } = await findMetadata(requests, issuer);
  const address = requireEndpoint(document, 'jwks_uri', at);
  requireTlsOrTrust(address, requests.trusted);
  return address;
}

/** Returns the result of the first issuer with usable metadata. @throws OAuthFault of the first one */
export async function firstUsable<T>(
  issuers: readonly string[],
  discover: (issuer: string) => Promise<T>,
): Promise<T> {
  let first: unknown = null;
  for (const issuer of issuers) {
    try {
      return await discover(issuer);
    } catch (error) {
      first ??= error;
    }
  }
  throw first;
}

interface IssuerMetadata {
  readonly document: Readonly<Record<string, unknown>>;
  /** Where it was found, for errors. */
  readonly at: string;
}

/** Issuers without metadata can be used when both endpoints are configured. @throws OAuthFault */
async function completeMetadata(
  requests: OAuthRequests,
  { issuer, replacing }: NamedIssuer,
): Promise<IssuerMetadata> {
  const { authorization_endpoint: authorize, token_endpoint: token } = replacing ?? {};
  const isComplete = authorize !== undefined && token !== undefined;
  try {
    const { document, at } = await findMetadata(requests, issuer);
    return { document: { ...document, ...replacing }, at };
  } catch (error) {
    if (!isComplete || !(error instanceof MetadataMissing)) throw error;
    return { document: { ...replacing }, at: 'oauth_metadata' };
  }
}

/** The authorization server publishes no metadata. */
class MetadataMissing extends OAuthFault {}

/** The metadata of exactly this issuer. @throws OAuthFault */
async function findMetadata(requests: OAuthRequests, issuer: string): Promise<IssuerMetadata> {
  for (const place of metadataPlaces(issuer)) {
    const document = await fetchDocument(requests, place);
    if (document === null) continue;
    const at = shortUrl(place);
    if (document.issuer === issuer) return { document, at };
    throw new OAuthFault(`${at} is the metadata of another issuer than ${shortUrl(issuer)}`);
  }
  throw new MetadataMissing(`the authorization server ${shortUrl(issuer)} has no metadata`);
}

/** Null when the metadata have none. @throws OAuthFault */
function endpointIn(
  document: Readonly<Record<string, unknown>>,
  name: string,
  at: string,
): string | null {
  const value = document[name];
  if (value === undefined) return null;
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.href.length > addressCharsMax) {
    throw new OAuthFault(`${at}: ${name} is not an address`);
  }
  return value as string;
}

function requireEndpoint(
  document: Readonly<Record<string, unknown>>,
  name: string,
  at: string,
): string {
  const value = endpointIn(document, name, at);
  if (value === null) throw new OAuthFault(`${at} has no ${name}`);
  return value;
}

/** RFC 8414 with its path inserted, then OpenID Connect with the path inserted, then appended. */
function metadataPlaces(issuer: string): string[] {
  const url = URL.parse(issuer);
  const isIssuer = url !== null && /^https?:$/.test(url.protocol) && url.search + url.hash === '';
  if (!isIssuer) throw new OAuthFault('the server names an issuer that is not an address');
  const path = url.pathname.replace(/\/+$/, '');
  return [
    ...new Set([
      `${url.origin}/.well-known/oauth-authorization-server${path}`,
      `${url.origin}/.well-known/openid-configuration${path}`,
      `${url.origin}${path}/.well-known/openid-configuration`,
    ]),
  ];
}

/** @throws OAuthFault */
function readServerMetadata(
  document: Readonly<Record<string, unknown>>,
  issuer: string,
  at: string,
): AuthorizationServer {
  // Without it a stolen code could be exchanged by another client.
  if (!textsOf(document.code_challenge_methods_supported).includes('S256')) {
    throw new OAuthFault(`${at}: the authorization server does not support PKCE with S256`);
  }
  const methods = document.token_endpoint_auth_methods_supported;
  return {
    issuer,
    authorizationEndpoint: requireEndpoint(document, 'authorization_endpoint', at),
    tokenEndpoint: requireEndpoint(document, 'token_endpoint', at),
    registrationEndpoint: endpointIn(document, 'registration_endpoint', at),
    revocationEndpoint: endpointIn(document, 'revocation_endpoint', at),
    authMethods: Array.isArray(methods) ? textsOf(methods) : null,
    scopes: textsOf(document.scopes_supported),
    acceptsClientMetadata: document.client_id_metadata_document_supported === true,
    namesIssuer: document.authorization_response_iss_parameter_supported === true,
  };
}

function textsOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : []).filter(
    (one): one is string => typeof one === 'string',
  );
}
