/** Describes the operations on keys, configs, guardrails, policies, providers and secrets for the OpenAPI document. */
import type { OperationTexts } from './operation-texts.ts';

export const resourceTexts: OperationTexts = {
  'POST /api-keys/{type}/{subType}':
    'Creates a key of an organisation or a workspace, for a service or a person. The value is in `key` of this response and is never returned again. A key cannot have scopes that its creator lacks.',
  'POST /api-keys/service':
    'Creates a service key. `type` is `workspace` where a workspace is named, else `organisation`. The value is in `key` of this response and is never returned again.',
  'POST /api-keys/user':
    'Creates a key of the person that `user_id` names. The value is in `key` of this response and is never returned again.',
  'GET /api-keys':
    'Returns the keys whose type the caller may list, newest first, with masked values. Unknown query parameters are refused.',
  'GET /api-keys/{id}':
    'Returns one key with scopes, budget, rate limit and state; its value is masked.',
  'PUT /api-keys/{id}':
    'Changes the sent fields of a key. `reset_usage` sets the usage of the current window to zero. The value is changed by a rotation only.',
  'DELETE /api-keys/{id}': 'Deletes a key. All gateways refuse it within a second.',
  'POST /api-keys/{id}/rotate':
    'Replaces the value of a key and returns the new one once. The previous value works until `key_transition_expires_at`. While it does, another rotation is 409.',
  'POST /configs':
    'Stores a routing document: targets, fallbacks, load balancing, retries, caching and guardrails. Unknown fields of the document are refused with their path.',
  'GET /configs': 'Returns configs, newest first, without their documents.',
  'GET /configs/{configId}':
    'Returns one config; `config` is the document as JSON text. The `ETag` is the version for `If-Match`.',
  'PUT /configs/{configId}':
    'Changes the sent fields. A changed document becomes a new version and takes effect on all gateways within a second.',
  'DELETE /configs/{configId}':
    'Deletes a config with its versions. A config that keys or workspaces use cannot be deleted.',
  'GET /configs/{configId}/versions':
    'Returns the latest hundred documents of a config, newest first.',
  'POST /guardrails':
    'Creates a guardrail: checks on requests and responses, or on MCP tools, with the actions for success and failure. Unknown checks and parameters are refused.',
  'GET /guardrails':
    'Returns guardrails of the organisation or of a workspace, newest first, without their checks.',
  'GET /guardrails/{guardrailId}': 'Returns one guardrail with checks, actions and MCP servers.',
  'PUT /guardrails/{guardrailId}':
    'Changes the sent fields of a guardrail. It takes effect on all gateways within a second.',
  'DELETE /guardrails/{guardrailId}':
    'Deletes a guardrail and its mappings to MCP servers. One that a config, a workspace or the organisation names cannot be deleted.',
  'POST /guardrails/{guardrailId}/test':
    'Judges a text as one message, and returns verdict and duration of each check. Checks that call services or a mounted model are skipped. Neither the text nor the result is stored, logged or charged.',
  'GET /guardrails/{guardrailId}/mcp-servers':
    'Returns the MCP servers on which a guardrail runs, as an array.',
  'PUT /guardrails/{guardrailId}/mcp-servers':
    'Makes the mappings of a guardrail exactly those of the body, and returns what was added, updated and removed.',
  'GET /guardrails/{guardrailId}/mcp-servers/{mcpServerId}':
    'Returns when, and on which capabilities, a guardrail runs on one MCP server.',
  'PUT /guardrails/{guardrailId}/mcp-servers/{mcpServerId}':
    'Creates the mapping of a guardrail to one MCP server, or replaces it as a whole.',
  'DELETE /guardrails/{guardrailId}/mcp-servers/{mcpServerId}':
    'Stops a guardrail from running on one MCP server.',
  'GET /plugins':
    'Returns an empty list: accounts of partners are not stored, because no check uses them.',
  'POST /guardrail-exclusions':
    'Exempts a workspace from input guardrails, output guardrails or both of the organisation. A workspace has at most one exclusion.',
  'GET /guardrail-exclusions':
    'Returns the workspaces that are exempt from guardrails of the organisation.',
  'GET /guardrail-exclusions/{guardrailExclusionId}':
    'Returns from which guardrails of the organisation one workspace is exempt.',
  'PUT /guardrail-exclusions/{guardrailExclusionId}':
    'Changes from which guardrails of the organisation a workspace is exempt.',
  'DELETE /guardrail-exclusions/{guardrailExclusionId}':
    'Ends the exemption: the guardrails of the organisation apply to the workspace again.',
  'GET /workspace-exclusions/input-guardrails':
    'Returns every active workspace and whether input guardrails of the organisation skip it.',
  'PUT /workspace-exclusions/input-guardrails':
    'Sets for up to 1,000 workspaces whether input guardrails of the organisation skip them. Others stay, unless `override_existing` is true.',
  'GET /workspace-exclusions/output-guardrails':
    'Returns every active workspace and whether output guardrails of the organisation skip it.',
  'PUT /workspace-exclusions/output-guardrails':
    'Sets for up to 1,000 workspaces whether output guardrails of the organisation skip them. Others stay, unless `override_existing` is true.',
  'POST /policies/usage-limits':
    'Limits the cost, tokens or requests that its conditions select, in each period and for each combination of `group_by` values.',
  'GET /policies/usage-limits':
    'Returns usage-limit policies, newest first: active ones by default.',
  'GET /policies/usage-limits/{id}':
    'Returns one usage-limit policy; with `include_usage=true` also its counters.',
  'PUT /policies/usage-limits/{id}':
    'Changes the sent fields of a usage-limit policy. `reset_usage_for_value` sets one counter to zero.',
  'DELETE /policies/usage-limits/{id}':
    'Archives a usage-limit policy, which then limits nothing. Its counters are kept for 90 days.',
  'GET /policies/usage-limits/{id}/entities':
    'Returns the counters of the current window, one for each combination of `group_by` values that was used.',
  'PUT /policies/usage-limits/{id}/entities/{entityId}/reset':
    'Sets one counter of the current window to zero.',
  'POST /policies/rate-limits':
    'Limits the requests or tokens that its conditions select in each second, minute, hour, day or week. Requests beyond it are 429.',
  'GET /policies/rate-limits': 'Returns rate-limit policies, newest first: active ones by default.',
  'GET /policies/rate-limits/{id}': 'Returns one rate-limit policy.',
  'PUT /policies/rate-limits/{id}':
    'Changes the sent fields of a rate-limit policy. A changed `value` applies to what is counted already.',
  'DELETE /policies/rate-limits/{id}': 'Archives a rate-limit policy, which then limits nothing.',
  'POST /integrations':
    'Stores an account at a model provider: the service, its key, and further configuration. Secrets are encrypted and never returned. No connection is made.',
  'GET /integrations': 'Returns integrations of the organisation or of a workspace, newest first.',
  'GET /integrations/{integrationId}':
    'Returns one integration. The key and other secrets are masked; a masked value may be sent back unchanged.',
  'PUT /integrations/{integrationId}':
    'Changes the sent fields. A changed `custom_host` requires the key and secret headers again, so that stored secrets are sent to no new address.',
  'DELETE /integrations/{integrationId}':
    'Deletes an integration with its models and workspace entries. One that providers use cannot be deleted.',
  'GET /integrations/{integrationId}/models':
    'Returns the known models of the service, then those with an entry of their own, and whether models without an entry are allowed.',
  'PUT /integrations/{integrationId}/models':
    'Sets state, price, address and headers of up to 1,000 models. Models that are not named stay.',
  'DELETE /integrations/{integrationId}/models':
    'Deletes entries of models that the body or `slugs` names. Models of the public list are disabled instead.',
  'PUT /integrations/{integrationId}/integration-models':
    'Sets state, price, address and headers of up to 1,000 models, under the older name of the route.',
  'GET /integrations/{integrationId}/workspaces':
    'Returns which workspaces may use an integration of the organisation, with their budgets and rate limits for it.',
  'PUT /integrations/{integrationId}/workspaces':
    'Grants or denies workspaces the use of an integration, with a budget and a rate limit for each. A workspace that gains access gets a provider.',
  'POST /providers':
    'Gives a workspace a name, the slug, under which configs and requests use an integration: `@slug`.',
  'GET /providers': 'Returns providers, newest first.',
  'GET /providers/{providerId}': 'Returns one provider with budget, rate limit and state.',
  'PUT /providers/{providerId}':
    'Changes the sent fields. Workspace, integration and slug are fixed.',
  'DELETE /providers/{providerId}': 'Deletes a provider. The integration stays.',
  'POST /virtual-keys':
    'Creates a provider and its integration in one step, under the name that older clients use.',
  'GET /virtual-keys': 'Returns all providers in the form of virtual keys.',
  'GET /virtual-keys/{providerId}': 'Returns one provider in the form of a virtual key.',
  'PUT /virtual-keys/{providerId}':
    'Changes a virtual key, and the integration that was created with it.',
  'DELETE /virtual-keys/{providerId}':
    'Deletes a virtual key, and the integration that was created with it unless another provider uses it.',
  'GET /model-configs/pricing/{provider}/{model}':
    'Returns the public price of a model in US cents for each unit. It is independent of accounts and of prices that an integration sets.',
  'GET /utils/static-resources/ai-providers':
    'Returns the services that `ai_provider_id` of an integration may name, with their ids.',
  'GET /utils/static-resources/schema':
    'Returns every check with a JSON Schema of its parameters, for `resource=guardrails`.',
  'POST /secret-references':
    'Stores where a value is in AWS Secrets Manager, Azure Key Vault or HashiCorp Vault, and how to log in there. The manager is not contacted. Without `allowed_workspaces` or `allow_all_workspaces` no workspace may use it.',
  'GET /secret-references': 'Returns secret references, newest first, with masked credentials.',
  'GET /secret-references/{secretReferenceId}':
    'Returns one secret reference with masked credentials, never the value it refers to.',
  'PUT /secret-references/{secretReferenceId}':
    'Changes the sent fields; `auth_config` merges by field. A changed address requires the credentials again.',
  'DELETE /secret-references/{secretReferenceId}':
    'Deletes a secret reference. One that an integration names cannot be deleted.',
};
