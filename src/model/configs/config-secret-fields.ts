/** Lists the secret members of a config document. Only texts are secrets, at the paths of this list. */
import { checkSecrets } from '../guardrails/check-secrets.ts';
import { guardrailFields, hookFields } from '../manifests/kind-references.ts';
import { levelsPart } from '../manifests/path-patterns.ts';

/** Members of a level that contain the credential of an account. */
const accountSecrets = [
  'api_key',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'azure_ad_token',
  'azure_entra_client_secret',
  'oracle_key_passphrase',
  'oracle_private_key',
  'vertex_service_account_json',
  'vertex_service_account_json.*',
];

/** Members of a level whose content is written into the bodies of requests. */
export const parameterFields = ['default_params', 'override_params'] as const;

/** Names of parameters that contain a credential, at any depth. */
const parameterSecrets = [
  'access_token',
  'api_key',
  'apiKey',
  'auth_token',
  'authorization',
  'authorization_token',
  'client_secret',
  'connection_string',
  'password',
  'private_key',
  'secret',
  'secret_key',
].map((name) => `**.${name}`);

/** Headers that a provider sends on behalf of a request, for example to an MCP server. */
const parameterHeaders = [
  'extra_headers.*',
  'headers.*',
  'mcp_servers.*.headers.*',
  'tools.*.headers.*',
];

/** Members of a level that list checks. */
export const checkFields = [...hookFields, ...guardrailFields] as const;

/** Secrets of one level of the document. */
const levelSecrets: readonly string[] = [
  ...accountSecrets,
  ...parameterFields.flatMap((field) =>
    [...parameterSecrets, ...parameterHeaders].map((pattern) => `${field}.${pattern}`),
  ),
  ...checkFields.flatMap((field) =>
    checkSecrets.map((pattern) => `${field}.*.checks.*.parameters.${pattern}`),
  ),
  // Checks that a guardrail contains directly, by their ids.
  ...guardrailFields.flatMap((field) => checkSecrets.map((pattern) => `${field}.*.*.${pattern}`)),
];

/** Dotted patterns (model/manifests/path-patterns.ts) of all secrets in a document. */
export const configSecrets: readonly string[] = levelSecrets.map(
  (pattern) => `${levelsPart}.${pattern}`,
);
