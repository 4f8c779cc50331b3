/** Reads the OAuth client credentials from the configurations of an integration. */
import type { IntegrationConfigurations } from '../../model/providers/integration.ts';
import { Secret } from '../../secret.ts';

/** How an integration obtains tokens. Missing fields are empty. */
export interface ClientLogin {
  /** Name in messages: `integration team-openai`. */
  readonly origin: string;
  readonly endpoint: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
}

/** Null when the integration does not log in with client credentials. */
export function clientLoginOf(
  configurations: IntegrationConfigurations,
  origin: string,
): Secret<ClientLogin> | null {
  if (configurations.provider_auth_type !== 'oauthClientCredentials') return null;
  const text = (name: string): string => {
    const value = configurations[name];
    return typeof value === 'string' ? value : '';
  };
  const login = {
    origin,
    endpoint: text('oauth_token_endpoint'),
    clientId: text('oauth_client_id'),
    clientSecret: text('oauth_client_secret'),
    scope: text('oauth_scope'),
  };
  return new Secret(login, origin);
}
