/** Reads the OAuth client credentials from the configurations of an integration. */
import type { IntegrationConfigurations } from '../../model/providers/integration.ts';
import { Secret } from '../../secret.ts';

/** How the client authenticates at the token endpoint (RFC 6749 2.3.1, RFC 7523). */
type ClientAuthMethod = 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';

/** How an integration obtains tokens. Missing fields are empty. */
export interface ClientLogin {
  /** Name in messages: `integration team-openai`. */
  readonly origin: string;
  readonly endpoint: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
  readonly authMethod: ClientAuthMethod;
  /** Signs the assertions of private_key_jwt: PEM or a JWK. */
  readonly privateKey: string;
  readonly privateKeyId: string;
  /** Audience of assertions; the endpoint when it is empty. */
  readonly issuer: string;
  /** Server that the token is for (RFC 8707). */
  readonly resource: string;
  /** Name of that server at the issuer, for token exchange. */
  readonly audience: string;
  /** A token to exchange for another (RFC 8693); the client's own token is requested when it is empty. */
  readonly subjectToken: string;
  /** Whether the exchange returns an assertion for another authorization server (ID-JAG), not an access token. */
  readonly isForAssertion: boolean;
  /** Login at the identity provider whose assertion is presented here (RFC 7523); null for none. */
  readonly assertedBy: ClientLogin | null;
}

/** Members that not every login uses. */
const plainLogin = {
  authMethod: 'client_secret_basic',
  privateKey: '',
  privateKeyId: '',
  issuer: '',
  resource: '',
  audience: '',
  subjectToken: '',
  isForAssertion: false,
  assertedBy: null,
} as const satisfies Partial<ClientLogin>;

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
  const login: ClientLogin = {
    ...plainLogin,
    origin,
    endpoint: text('oauth_token_endpoint'),
    clientId: text('oauth_client_id'),
    clientSecret: text('oauth_client_secret'),
    scope: text('oauth_scope'),
  };
  return new Secret(login, origin);
}
