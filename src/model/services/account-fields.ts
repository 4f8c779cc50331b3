/** Lists the account fields that have an effect, of every service and of each dialect, and finds account fields. */
import type { DialectName } from './provider-addresses.ts';

export const commonAccountFields: readonly string[] = [
  'provider_auth_type',
  'oauth_token_endpoint',
  'oauth_client_id',
  'oauth_client_secret',
  'oauth_scope',
];

/** Fields that the requests of a dialect carry. */
export const dialectAccountFields: Readonly<Record<DialectName, readonly string[]>> = {
  openai: ['openai_organization', 'openai_project'],
  anthropic: ['anthropic_beta', 'anthropic_version'],
  'azure-openai': [
    'azure_resource_name',
    'azure_deployment_id',
    'azure_api_version',
    'azure_deployment_config',
    'resource_name',
    'deployment_id',
    'api_version',
  ],
};

const accountFields =
  /^(?:aws_|vertex_|azure_|openai_|anthropic_)|^(?:resource_name|deployment_id|api_version)$/;

/** Returns the account fields in a document; null if there are none. */
export function accountFieldsIn(
  document: Readonly<Record<string, unknown>>,
): Record<string, string> | null {
  const fields = Object.entries(document).filter(
    (entry): entry is [string, string] =>
      accountFields.test(entry[0]) && typeof entry[1] === 'string',
  );
  return fields.length === 0 ? null : Object.fromEntries(fields);
}
