/** Defines the OAuth client that the gateway is for an authorization server: registered before, by its metadata document, or dynamically. */
import type { MappedField } from '../../auth/mapped-fields.ts';
import { Secret } from '../../secret.ts';
import { OAuthFault } from './oauth-fault.ts';
import { type OAuthRequests, postForDocument, shortUrl } from './oauth-http.ts';
import type { AuthorizationServer } from './server-metadata.ts';

export type ClientAuthMethod = 'client_secret_basic' | 'client_secret_post' | 'none';

export interface OAuthClient {
  readonly id: string;
  readonly secret: Secret | null;
  readonly authMethod: ClientAuthMethod;
}

/** A client that an authorization server has registered. */
export interface RegisteredClient extends OAuthClient {
  /** When the secret expires; null for never. */
  readonly expiresAt: number | null;
}

/** The client that an administrator has registered. */
export interface ConfiguredClient {
  readonly id: string;
  readonly secret: Secret | null;
  /** Where a secret manager has the secret; null when none does. */
  readonly mapped: MappedField | null;
  /** The only authorization server that the client is for; null when it is not configured. */
  readonly issuer: string | null;
}

/** Addresses of this gateway. */
export interface ClientAddresses {
  readonly redirectUri: string;
  /** Address of the metadata document, which is the client id. */
  readonly metadataUrl: string;
}

const clientName = 'gatewright';
const grantTypes = ['authorization_code', 'refresh_token'];

/** Usable as it is, or null when the server must register it dynamically. */
export function knownClient(
  server: Pick<AuthorizationServer, 'authMethods' | 'acceptsClientMetadata'>,
  configured: ConfiguredClient | null,
  { metadataUrl }: ClientAddresses,
): OAuthClient | null {
  if (configured !== null) {
    const { id, secret } = configured;
    return { id, secret, authMethod: secret === null ? 'none' : secretMethodOf(server) };
  }
  const isDocument = server.acceptsClientMetadata && metadataUrl.startsWith('https:');
  return isDocument ? { id: metadataUrl, secret: null, authMethod: 'none' } : null;
}

/** The document that the gateway serves at `metadataUrl`. */
export function clientMetadataDocument({ redirectUri, metadataUrl }: ClientAddresses) {
  return {
    client_id: metadataUrl,
    client_name: clientName,
    redirect_uris: [redirectUri],
    grant_types: grantTypes,
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'web',
  };
}

/** Registers a client (RFC 7591). @throws OAuthFault */
export async function registerClient(
  requests: OAuthRequests,
  server: AuthorizationServer,
  { redirectUri }: ClientAddresses,
  now: number,
): Promise<RegisteredClient> {
  const { registrationEndpoint: url, authMethods, issuer } = server;
  if (url === null) {
    const message = `${shortUrl(issuer)} registers no clients; register one there and set configurations.oauth_client_id`;
    throw new OAuthFault(message);
  }
  const isLocal = new URL(redirectUri).protocol === 'http:';
  const accepted = methodsOf(authMethods);
  const document = await postForDocument(requests, {
    url,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: clientName,
      redirect_uris: [redirectUri],
      grant_types: grantTypes,
      response_types: ['code'],
      token_endpoint_auth_method: accepted[0],
      application_type: isLocal ? 'native' : 'web',
    }),
  });
  return readRegistration(document, shortUrl(url), now);
}

function readRegistration(
  document: Record<string, unknown>,
  at: string,
  now: number,
): RegisteredClient {
  const { client_id: id, client_secret: secret } = document;
  const isText = (value: unknown): value is string =>
    typeof value === 'string' && /^[\x20-\x7e]{1,2048}$/.test(value);
  if (!isText(id) || (secret !== undefined && !isText(secret))) {
    throw new OAuthFault(`${at} has registered no usable client`);
  }
  const usual = secret === undefined ? 'none' : 'client_secret_basic';
  const { token_endpoint_auth_method: method = usual } = document;
  if (!isAuthMethod(method) || (method !== 'none' && secret === undefined)) {
    throw new OAuthFault(`${at} demands a client authentication that is not supported`);
  }
  const { client_secret_expires_at: seconds } = document;
  const expiresAt = typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : null;
  if (secret !== undefined && expiresAt !== null && expiresAt <= now) {
    throw new OAuthFault(`${at} has registered a client that has expired`);
  }
  return {
    id,
    secret: secret === undefined ? null : new Secret(secret, `the client at ${at}`),
    authMethod: method,
    expiresAt: secret === undefined ? null : expiresAt,
  };
}

export function isAuthMethod(value: unknown): value is ClientAuthMethod {
  return value === 'client_secret_basic' || value === 'client_secret_post' || value === 'none';
}

/** Methods that both support, the best first. RFC 8414: servers without a list support `client_secret_basic`. */
function methodsOf(listed: readonly string[] | null): ClientAuthMethod[] {
  const known: ClientAuthMethod[] = ['client_secret_basic', 'client_secret_post', 'none'];
  const both = known.filter((one) => (listed ?? ['client_secret_basic']).includes(one));
  if (both.length === 0) {
    throw new OAuthFault(
      'the authorization server supports no client authentication by secret or none',
    );
  }
  return both;
}

function secretMethodOf({ authMethods }: Pick<AuthorizationServer, 'authMethods'>) {
  return methodsOf(authMethods).find((one) => one !== 'none') ?? 'client_secret_basic';
}
