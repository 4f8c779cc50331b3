/** Lists the account fields that have an effect: those of every service, and those of each dialect. */
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
