/** Defines the fields of one level of a routing document: the root or a target. */
import { z } from 'zod';
import { cloudLoginFields } from '../services/account-fields.ts';
import { foreignAccountFields, foreignLevelFields } from '../services/foreign-fields.ts';
import { headerNamesMax } from '../services/forward-headers.ts';
import { providerNameForm, providerNamePattern } from '../services/provider-addresses.ts';
import { described } from '../wire/described.ts';
import { acceptWithoutEffect } from '../wire/unknown-fields.ts';
import { CacheFields } from './cache-settings.ts';

const conditionsMax = 1000;

const statusCodes = z.array(z.int().min(100).max(599)).max(500);
/** Also the text of a response header. */
const ProviderName = z.string().regex(providerNamePattern, `must have ${providerNameForm}`);
const record = z.record(z.string(), z.unknown());
const guardrailList = z.array(z.union([z.string().min(1).max(255), record])).max(100);
const hookList = z.array(record).max(100);

/** A new schema for each place, because each has a description of its own. */
function breaker() {
  const count = () => z.number().min(0).optional();
  return z
    .looseObject({
      failure_threshold: described(count(), 'Failures in a row after which a target is skipped.'),
      failure_threshold_percentage: described(
        count(),
        'Percentage of failures after which a target is skipped.',
      ),
      minimum_requests: described(count(), 'Requests before the percentage counts.'),
      cooldown_interval: described(count(), 'How long a target is skipped, in milliseconds.'),
      failure_status_codes: described(
        statusCodes.clone().optional(),
        'Response statuses that count as failures; by default those above 500.',
      ),
    })
    .optional();
}

const Strategy = z.looseObject({
  mode: described(
    z.enum(['single', 'loadbalance', 'fallback', 'conditional']),
    'Selection of a target: a single one, by weight, the next on failure, or by conditions.',
  ),
  on_status_codes: described(
    statusCodes.optional(),
    'Response statuses of a provider that count as failures.',
  ),
  conditions: described(
    z
      .array(
        z.looseObject({
          query: described(record.clone(), 'Query that a request must match.'),
          // biome-ignore lint/suspicious/noThenProperty: the format calls it so
          then: described(z.string(), 'Name of the target of requests that match.'),
        }),
      )
      .min(1)
      .max(conditionsMax)
      .optional(),
    'Conditions, each with a query and, in then, the name of the target.',
  ),
  default: described(z.string().min(1).optional(), 'Target if no condition matches.'),
  sticky: described(
    z
      .looseObject({
        enabled: described(z.boolean().optional(), 'Whether equal requests take the same target.'),
        hash_fields: described(
          z.array(z.string().min(1)).max(32).optional(),
          'Values that must be equal: names of metadata, or params.user and the like.',
        ),
        ttl: described(z.number().min(0).optional(), 'How long they take it, in seconds.'),
      })
      .optional(),
    'Whether loadbalance keeps equal requests on one target.',
  ),
  balance_by: described(
    z.enum(['weight', 'latency', 'cost']).optional(),
    'How loadbalance selects: by weight (default), the fastest or the cheapest target.',
  ),
  skip_unhealthy: described(
    z.boolean().optional(),
    'Whether loadbalance and fallback avoid targets most of whose recent calls failed.',
  ),
  on_context_window: described(
    z.boolean().optional(),
    'Whether fallback continues when a prompt is too long for a model, and skips models that are known to be too small.',
  ),
  hedge: described(
    z
      .looseObject({
        percentile: described(
          z.number().min(50).max(99.9).optional(),
          'Percentile of the latency of the target after which the second request is sent.',
          { default: 95 },
        ),
        min_ms: described(
          z.int().min(0).max(600_000).optional(),
          'Milliseconds before which none is sent.',
          { default: 0 },
        ),
        max_percent: described(
          z.number().min(0.1).max(100).optional(),
          'Most second requests for 100 requests.',
          { default: 5 },
        ),
      })
      .optional(),
    'Sends a second request to the next target when the first has not begun to answer; the first answer counts.',
  ),
  cb_config: described(breaker(), 'Alias of cb_config beside strategy.'),
});

const word = () => z.string().min(1).max(1024).optional();

/** Account fields of a target without a provider of the workspace. */
const accountShape = {
  openai_organization: described(word(), 'Organisation of the account at OpenAI.'),
  openai_project: described(word(), 'Project of the account at OpenAI.'),
  anthropic_beta: described(word(), 'Betas of Anthropic that requests use.'),
  anthropic_version: described(word(), 'API version of Anthropic.'),
  azure_resource_name: described(word(), 'Name of the Azure resource.'),
  azure_deployment_id: described(word(), 'Name of the Azure deployment.'),
  azure_api_version: described(word(), 'API version of Azure.'),
  aws_auth_type: described(word(), 'How requests are signed for Bedrock.'),
  aws_region: described(word(), 'Region of Bedrock.'),
  aws_access_key_id: described(word(), 'Access key of AWS; a secret.'),
  aws_secret_access_key: described(word(), 'Secret of the access key.'),
  aws_session_token: described(
    z.string().min(1).max(8192).optional(),
    'Session token of a temporary access key; a secret.',
  ),
  aws_role_arn: described(word(), 'Role that the access key assumes.'),
  aws_external_id: described(word(), 'External id that the role requires.'),
  aws_bedrock_format: described(
    word(),
    'How Bedrock serves the model: openai, invoke or converse; by default, the name of the model decides.',
  ),
  resource_name: described(word(), 'Alias of azure_resource_name.'),
  deployment_id: described(word(), 'Alias of azure_deployment_id.'),
  api_version: described(word(), 'Alias of azure_api_version.'),
  azure_foundry_url: described(word(), 'Address of the resource at Azure AI Foundry.'),
  azure_deployment_name: described(word(), 'Name of the deployment at Azure AI Foundry.'),
  vertex_project_id: described(word(), 'Project at Google Cloud.'),
  vertex_region: described(word(), 'Region of Vertex AI, or global.'),
  snowflake_account: described(word(), 'Account identifier at Snowflake.'),
  databricks_workspace: described(word(), 'Host of the workspace at Databricks.'),
  google_api_format: described(
    z.enum(['openai', 'gemini']).optional(),
    'Format in which Google receives chats, messages and responses.',
    { default: 'openai' },
  ),
  workers_ai_account_id: described(word(), 'Account at Cloudflare.'),
};

/** One level: the root or a target. config-document.ts refuses fields that are not defined here. */
const levelShape = {
  strategy: described(
    Strategy.optional(),
    'How a target is selected; absent if this level is a provider itself.',
  ),
  targets: described(
    z.array(record).optional(),
    'Levels to select from, each a provider or a strategy of its own.',
  ),
  name: described(z.string().max(255).optional(), 'Name of the target, for conditions.'),
  weight: described(z.number().min(0).optional(), 'Share of requests under loadbalance.'),
  context_window: described(
    z.int().min(1).optional(),
    'Most input tokens of the model, for on_context_window; by default as published.',
  ),
  provider: described(ProviderName.optional(), 'Provider of the target.'),
  virtual_key: described(ProviderName.optional(), 'Credential of the provider, by its slug.'),
  api_key: described(
    z.string().optional(),
    'Credential of a service that is named directly; a provider has its own.',
  ),
  custom_host: described(
    z.string().min(1).optional(),
    'Base URL to call instead of that of the provider.',
  ),
  passthrough: described(
    z.boolean().optional(),
    'Whether the request selects the provider, by a header or a prefix of its model.',
  ),
  override_params: described(record.optional(), 'Parameters that replace those of the request.'),
  default_params: described(
    record.optional(),
    'Parameters that are added if the request lacks them.',
  ),
  drop_params: described(
    z.array(z.string().min(1)).max(100).optional(),
    'Parameters that are removed from requests.',
  ),
  unsupported: described(
    z.enum(['drop', 'refuse']).optional(),
    'Whether members that the format of the provider lacks are left out or refused; by default hints are left out and the rest is refused.',
  ),
  retry: described(
    z
      .looseObject({
        attempts: described(
          z.int().min(0).max(5).optional(),
          'Maximum number of retries of a failed request.',
        ),
        on_status_codes: described(
          statusCodes.optional(),
          'Response statuses of a provider that count as failures.',
        ),
        use_retry_after_headers: described(
          z.boolean().optional(),
          'Whether the Retry-After header of the provider sets the delay.',
        ),
        use_retry_after_header: described(
          z.boolean().optional(),
          'Alias of use_retry_after_headers.',
        ),
      })
      .optional(),
    'Retries of failed requests, and which failures count.',
  ),
  cache: described(CacheFields.optional(), 'Whether responses are cached, and for how long.'),
  on_status_codes: described(
    statusCodes.optional(),
    'Response statuses of a provider that count as failures.',
  ),
  request_timeout: described(z.int().min(1).optional(), 'Timeout of a request in milliseconds.'),
  forward_headers: described(
    z.array(z.string()).max(headerNamesMax).optional(),
    'Headers of the caller that are forwarded to the provider.',
  ),
  strict_open_ai_compliance: described(
    z.boolean().optional(),
    'Whether responses contain only fields of the OpenAI API.',
  ),
  input_guardrails: described(
    guardrailList.optional(),
    'Guardrails on requests: guardrailRef, a slug, or an inline check.',
  ),
  output_guardrails: described(
    guardrailList.optional(),
    'Guardrails on responses: guardrailRef, a slug, or an inline check.',
  ),
  before_request_hooks: described(
    hookList.optional(),
    'Guardrails on requests: with checks, or named by guardrailRef or id.',
  ),
  after_request_hooks: described(
    hookList.optional(),
    'Guardrails on responses: with checks, or named by guardrailRef or id.',
  ),
  cb_config: described(breaker(), 'When a failing target is skipped for a while.'),
  ...accountShape,
};

/** Fields that only an integration uses, such as logins at Entra ID and Google Cloud, are accepted too. */
const withoutEffect = [
  ...foreignLevelFields,
  ...Object.values(foreignAccountFields).flat(),
  ...cloudLoginFields,
].filter((name) => !Object.hasOwn(levelShape, name));

export const Level = acceptWithoutEffect(z.looseObject(levelShape), new Set(withoutEffect));
export type Level = z.infer<typeof Level>;
