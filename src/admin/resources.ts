/** Lists every resource after those that it refers to. */
import { apiKeyResource } from './api-keys/api-keys.ts';
import { configResource } from './configs/configs.ts';
import { deploymentResource } from './deployments/deployments.ts';
import { organisationDefaultsResource } from './guardrails/guardrail-defaults.ts';
import { guardrailExclusionResource } from './guardrails/guardrail-exclusions.ts';
import { guardrailMappingResource } from './guardrails/guardrail-mappings.ts';
import { guardrailResource } from './guardrails/guardrails.ts';
import { serviceAccountResource } from './identity/service-accounts.ts';
import { tsgResource } from './identity/tsgs.ts';
import { mcpIntegrationResource } from './mcp/mcp-integrations.ts';
import { mcpServerResource } from './mcp/mcp-servers.ts';
import { scimMappingResource } from './people/scim-mappings.ts';
import { rateLimitPolicyResource } from './policies/rate-limit-policies.ts';
import { usageLimitPolicyResource } from './policies/usage-limit-policies.ts';
import { promptCollectionResource } from './prompts/prompt-collections.ts';
import { promptLabelResource } from './prompts/prompt-labels.ts';
import { promptPartialResource } from './prompts/prompt-partials.ts';
import { promptResource } from './prompts/prompts.ts';
import { integrationResource } from './providers/integrations.ts';
import { providerResource } from './providers/providers.ts';
import type { Resource } from './request/resource.ts';
import { secretReferenceResource } from './secrets/secret-references.ts';
import { workspaceGuardrailsResource } from './workspaces/workspace-guardrails.ts';
import { workspaceResource } from './workspaces/workspaces.ts';

export const resources: readonly Resource[] = [
  workspaceResource,
  guardrailResource,
  secretReferenceResource,
  integrationResource,
  providerResource,
  configResource,
  apiKeyResource,
  mcpIntegrationResource,
  mcpServerResource,
  guardrailMappingResource,
  usageLimitPolicyResource,
  rateLimitPolicyResource,
  promptLabelResource,
  promptCollectionResource,
  promptPartialResource,
  promptResource,
  organisationDefaultsResource,
  guardrailExclusionResource,
  workspaceGuardrailsResource,
  deploymentResource,
  scimMappingResource,
  serviceAccountResource,
  tsgResource,
];
