/** Selects the login of an integration from its configurations. */
import type { IntegrationConfigurations } from '../../model/providers/integration.ts';
import { Secret } from '../../secret.ts';
import { type ClientLogin, clientLoginOf } from './client-login.ts';
import type { CloudLogin } from './cloud-login.ts';
import { entraLoginOf } from './entra-login.ts';
import { googleLoginOf } from './google-login.ts';

/** How an integration obtains tokens. */
export type ProviderLogin = ClientLogin | CloudLogin;

/** Logins by the service that has them. */
const cloudLogins: Readonly<
  Record<string, (configurations: IntegrationConfigurations, origin: string) => CloudLogin | null>
> = {
  'vertex-ai': googleLoginOf,
  'azure-openai': entraLoginOf,
  'azure-ai': entraLoginOf,
};

/** Null when the key of the integration is sent. */
export function loginOf(
  service: string,
  configurations: IntegrationConfigurations,
  origin: string,
): Secret<ProviderLogin> | null {
  const client = clientLoginOf(configurations, origin);
  if (client !== null) return client;
  const read = Object.hasOwn(cloudLogins, service) ? cloudLogins[service] : undefined;
  const login = read?.(configurations, origin) ?? null;
  return login === null ? null : new Secret<ProviderLogin>(login, origin);
}
