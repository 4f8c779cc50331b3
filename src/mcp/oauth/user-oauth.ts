/** Reads how the users of an MCP server authorize the gateway there. */
import type { MappedField } from '../../auth/mapped-fields.ts';
import type { OAuthMetadata } from '../../model/mcp/external-auth.ts';
import type { McpConfigurations } from '../../model/mcp/mcp-integration.ts';
import { Secret } from '../../secret.ts';
import type { ConfiguredClient } from './oauth-client.ts';
import type { LoginIntegration } from './server-login.ts';

/** Settings of the integration. */
export interface UserOAuth {
  /** Null when the gateway registers itself. */
  readonly client: ConfiguredClient | null;
  /** Scope to request in place of the one that the server names; null for that one. */
  readonly scope: string | null;
  /** Members in place of those that the authorization server publishes. */
  readonly metadata: OAuthMetadata | null;
}

/** Null when no user needs to. `opened` has its secrets in plain text; `fields` come from secret managers. */
export function userOAuthOf(
  { slug, auth_type: authType }: Pick<LoginIntegration, 'slug' | 'auth_type'>,
  opened: McpConfigurations,
  fields: readonly MappedField[],
): UserOAuth | null {
  if (authType !== 'oauth_auto') return null;
  const { oauth_client_id: id, oauth_client_secret: secret } = opened;
  const origin = `the OAuth client of the MCP integration ${slug}`;
  const client = (clientId: string): ConfiguredClient => ({
    id: clientId,
    secret: isSet(secret) ? new Secret(secret, origin) : null,
    mapped: fields.find(({ target }) => target[0] === 'oauth_client_secret') ?? null,
    issuer: orNull(opened.oauth_issuer),
  });
  return {
    client: isSet(id) ? client(id) : null,
    scope: orNull(opened.oauth_scope),
    metadata: opened.oauth_metadata ?? null,
  };
}

function isSet(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}

function orNull(text: string | undefined): string | null {
  return isSet(text) ? text : null;
}
