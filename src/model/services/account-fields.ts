/** Lists the account fields that have an effect, of every service and of each dialect, and finds account fields. */
import type { DialectName } from './provider-addresses.ts';

const commonAccountFields: readonly string[] = [
  'provider_auth_type',
  'oauth_token_endpoint',
  'oauth_client_id',
  'oauth_client_secret',
  'oauth_scope',
];

const anthropicFields = ['anthropic_beta', 'anthropic_version'];
/** Fields of a login at Entra ID. */
const entraFields = [
  'azure_ad_token',
  'azure_auth_mode',
  'azure_authority_url',
  'azure_entra_client_id',
  'azure_entra_client_secret',
  'azure_entra_scope',
  'azure_entra_tenant_id',
  'azure_managed_client_id',
  'azure_workload_client_id',
];
const foundryFields = [
  ...entraFields,
  ...anthropicFields,
  'azure_foundry_url',
  'azure_resource_name',
  'azure_deployment_name',
  'azure_api_version',
];
const vertexFields = [
  'anthropic_beta',
  'vertex_auth_type',
  'vertex_project_id',
  'vertex_region',
  'vertex_service_account_json',
];

/** Fields of logins at Entra ID and Google Cloud, which only integrations use. */
export const cloudLoginFields: readonly string[] = [...entraFields, ...vertexFields];

const bedrockFields = [
  'aws_auth_type',
  'aws_region',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'aws_role_arn',
  'aws_external_id',
  'aws_bedrock_format',
  'anthropic_beta',
];

/** Fields that the requests of a dialect carry. */
const dialectAccountFields: Readonly<Record<DialectName, readonly string[]>> = {
  openai: ['openai_organization', 'openai_project'],
  anthropic: anthropicFields,
  'azure-openai': [
    ...entraFields,
    'azure_resource_name',
    'azure_deployment_id',
    'azure_api_version',
    'azure_deployment_config',
    'resource_name',
    'deployment_id',
    'api_version',
  ],
  'bedrock-openai': bedrockFields,
  'bedrock-anthropic': bedrockFields,
  'bedrock-converse': bedrockFields,
  'bedrock-titan': bedrockFields,
  'bedrock-cohere': bedrockFields,
  'bedrock-ranking': bedrockFields,
  cohere: [],
  voyage: [],
  'foundry-openai': foundryFields,
  'foundry-anthropic': foundryFields,
  'vertex-openai': vertexFields,
  'vertex-anthropic': vertexFields,
  gemini: [],
  'vertex-gemini': vertexFields,
};

/** Fields that one service has beside those of its dialect. */
const serviceAccountFields: Readonly<Record<string, readonly string[]>> = {
  cortex: ['snowflake_account'],
  databricks: ['databricks_workspace'],
  google: ['google_api_format'],
  'vertex-ai': ['google_api_format'],
  'workers-ai': ['workers_ai_account_id'],
};

/** Account fields that have an effect at some service. */
export const effectiveAccountFields: readonly string[] = [
  ...commonAccountFields,
  ...Object.values(dialectAccountFields).flat(),
  ...Object.values(serviceAccountFields).flat(),
];

/** Account fields that have an effect at a service. */
export function accountFieldsOf(service: string, dialect: DialectName): readonly string[] {
  const own = Object.hasOwn(serviceAccountFields, service) ? serviceAccountFields[service]! : [];
  return [...commonAccountFields, ...dialectAccountFields[dialect], ...own];
}

const accountFields =
  /^(?:aws_|vertex_|azure_|openai_|anthropic_)|^(?:resource_name|deployment_id|api_version|snowflake_account|databricks_workspace|google_api_format|workers_ai_account_id)$/;

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
