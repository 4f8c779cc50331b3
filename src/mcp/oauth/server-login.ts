/** Reads how the gateway obtains tokens for an MCP server with OAuth client credentials. */
import type { ClientLogin } from '../../gateway/logins/client-login.ts';
import type { McpConfigurations } from '../../model/mcp/mcp-integration.ts';
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
}

/** Null when the integration does not log in. `opened` has its secrets in plain text. */
export function serverLoginOf(
  { slug, url, auth_type: authType }: LoginIntegration,
  opened: McpConfigurations,
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
    resource: opened.oauth_resource ?? url.split('#', 1)[0]!,
  };
  return {
    client: new Secret(login, origin),
    exchangesToken: opened.oauth_grant_type === 'token_exchange',
  };
}
