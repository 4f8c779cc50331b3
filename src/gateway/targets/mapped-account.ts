/** Builds the account of a provider with the values of secret managers in its fields. */

import { headerText, type MappedField } from '../../auth/mapped-fields.ts';
import { configurationSecrets } from '../../model/providers/configuration-secrets.ts';
import type { IntegrationConfigurations } from '../../model/providers/integration.ts';
import { accountFieldsIn } from '../../model/services/account-fields.ts';
import {
  type AzureDeployment,
  readAzureDeployments,
} from '../../model/services/azure-deployments.ts';
import { Secret } from '../../secret.ts';
import {
  type ManagedSecret,
  SecretUnreadable,
  textOf,
} from '../../secret-managers/managed-secret.ts';
import { googleProjectOf } from '../logins/google-login.ts';
import { loginOf, type ProviderLogin } from '../logins/provider-login.ts';
import { type AwsLogin, awsLoginOf } from '../signing/aws-login.ts';

type Headers = Readonly<Record<string, string>>;

/** Account data that is sent to a service; all of it comes from the integration. */
export interface ProviderAccount {
  /** Account fields by their names in a config. */
  readonly account: Readonly<Record<string, string>>;
  /** Azure deployments; the requested model selects one. */
  readonly deployments: readonly AzureDeployment[];
  readonly credential: Secret | null;
  readonly customHost: string | null;
  /** Header names in lower case, as they are sent. */
  readonly headers: Secret<Headers>;
  /** Obtains tokens that replace the credential; null for none. */
  readonly login: Secret<ProviderLogin> | null;
  /** Signs requests at AWS; null for none. */
  readonly aws: Secret<AwsLogin> | null;
}

/** An account with decrypted secrets, before mapped values are inserted. */
export interface OpenedAccount {
  readonly key: string | null;
  readonly configurations: IntegrationConfigurations;
}

const secretNames = new Set(configurationSecrets);

/** `origin` is shown in place of secrets. */
export function buildAccount(
  service: string,
  { key, configurations }: OpenedAccount,
  origin: string,
): ProviderAccount {
  // No dialect uses the secret fields.
  const readable = Object.entries(configurations).filter(([name]) => !secretNames.has(name));
  const headers = Object.entries(configurations.custom_headers ?? {});
  return {
    account: withProject(
      service,
      configurations,
      accountFieldsIn(Object.fromEntries(readable)) ?? {},
    ),
    deployments: readAzureDeployments(configurations),
    credential: key === null ? null : new Secret(key, origin),
    customHost: configurations.custom_host ?? null,
    headers: new Secret(
      Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
      origin,
    ),
    aws: awsLoginOf(configurations, origin, true),
    login: loginOf(service, configurations, origin),
  };
}

/** A project that the account does not name is that of its service account. */
function withProject(
  service: string,
  configurations: IntegrationConfigurations,
  account: ProviderAccount['account'],
): ProviderAccount['account'] {
  if (service !== 'vertex-ai' || account.vertex_project_id !== undefined) return account;
  const project = googleProjectOf(configurations);
  return project === undefined ? account : { ...account, vertex_project_id: project };
}

/**
 * Inserts `values` into `fields`, in the same order.
 *
 * @throws SecretUnreadable for a value that does not fit its field
 */
export function withMappedValues(
  { key, configurations }: OpenedAccount,
  fields: readonly MappedField[],
  values: readonly ManagedSecret[],
): OpenedAccount {
  let credential = key;
  const copy: Record<string, unknown> = { ...configurations };
  for (const [at, { target, secretKey, isJson }] of fields.entries()) {
    const text = textOf(values[at]!, secretKey);
    const [name = '', inner] = target;
    if (name === 'key' && inner === undefined) credential = headerText(text);
    else if (inner === undefined) copy[name] = isJson ? parsed(text) : text;
    else {
      const holder = copy[name] as Record<string, unknown> | undefined;
      copy[name] = { ...holder, [inner]: name === 'custom_headers' ? headerText(text) : text };
    }
  }
  return { key: credential, configurations: copy as IntegrationConfigurations };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SecretUnreadable('the value is not JSON', false);
  }
}
