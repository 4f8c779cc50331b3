/** Reads how the gateway obtains tokens for an MCP server with OAuth client credentials. */
import type { MappedField } from '../../auth/mapped-fields.ts';
import type { ClientLogin } from '../../gateway/logins/client-login.ts';
import type { OAuthMetadata } from '../../model/mcp/external-auth.ts';
import type { McpConfigurations } from '../../model/mcp/mcp-integration.ts';
import { isClientSecret } from '../../model/mcp/mcp-secret-fields.ts';
import { Secret } from '../../secret.ts';

export interface LoginIntegration {
  readonly slug: string;
  readonly url: string;
  readonly auth_type: string;
}

export interface ServerLogin {
  readonly client: Secret<ClientLogin>;
  /** Whether the token of each caller is exchanged, so that the server knows the caller. */
  readonly exchangesToken: boolean;
  /** Where the caller's token is exchanged first, for an assertion; null when that is not needed. */
  readonly identityProvider: Secret<ClientLogin> | null;
  /** Secrets of the clients that come from secret managers. */
  readonly mapped: readonly MappedField[];
  /** Whether the integration says how its client authenticates. */
  readonly namesMethod: boolean;
  /** Members in place of those that the authorization server publishes. */
  readonly metadata: OAuthMetadata | null;
}

/**
 * Null when the integration does not log in. `opened` has its secrets in plain text; `fields` come from secret
 * managers.
 */
export function serverLoginOf(
  { slug, url, auth_type: authType }: LoginIntegration,
  opened: McpConfigurations,
  fields: readonly MappedField[],
): ServerLogin | null {
  if (authType !== 'oauth_client_credentials' || opened.oauth_client_id === undefined) return null;
  const origin = `MCP integration ${slug}`;
  const login: ClientLogin = {
    origin,
    endpoint: opened.oauth_token_endpoint ?? '',
    clientId: opened.oauth_client_id,
    clientSecret: opened.oauth_client_secret ?? '',
    scope: opened.oauth_scope ?? '',
    authMethod: opened.oauth_token_endpoint_auth_method ?? 'client_secret_basic',
    privateKey: opened.oauth_private_key ?? '',
    privateKeyId: opened.oauth_private_key_id ?? '',
    issuer: opened.oauth_issuer ?? '',
    // A fragment is no part of a resource (RFC 8707).
    audience: opened.oauth_audience ?? '',
    subjectToken: '',
    isForAssertion: false,
    assertedBy: null,
    resource: opened.oauth_resource ?? url.split('#', 1)[0]!,
  };
  const grantType = opened.oauth_grant_type ?? 'client_credentials';
  const isAsserted = grantType === 'identity_assertion';
  return {
    client: new Secret(login, origin),
    exchangesToken: grantType !== 'client_credentials',
    identityProvider: isAsserted ? new Secret(identityLoginOf(login, opened), origin) : null,
    mapped: fields.filter(({ target }) => isClientSecret(target)),
    namesMethod: opened.oauth_token_endpoint_auth_method !== undefined,
    metadata: opened.oauth_metadata ?? null,
  };
}

/** Whether the login is used as it is configured. */
export function isComplete({ client, mapped }: ServerLogin): boolean {
  return mapped.length === 0 && client.reveal().endpoint !== '';
}

/** The assertion names the authorization server of the MCP server as its audience. */
function identityLoginOf(server: ClientLogin, opened: McpConfigurations): ClientLogin {
  return {
    ...server,
    endpoint: opened.oauth_idp_token_endpoint ?? '',
    clientId: opened.oauth_idp_client_id ?? '',
    clientSecret: opened.oauth_idp_client_secret ?? '',
    authMethod: 'client_secret_basic',
    audience: opened.oauth_issuer ?? '',
    isForAssertion: true,
  };
}
