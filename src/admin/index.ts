/** Knows the whole Admin API: the routes of every resource, in one list. */
import type { AccessTokens } from '../auth/access-token.ts';
import type { Principal } from '../auth/principal.ts';
import type { Route } from '../http/route.ts';
import { accessPolicyRoutes } from './access-policies.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { configRoutes } from './configs.ts';
import type { AdminDeps } from './deps.ts';
import { guardrailMappingRoutes } from './guardrail-mappings.ts';
import { guardrailRoutes } from './guardrails.ts';
import { mcpCapabilityRoutes } from './mcp-capabilities.ts';
import { mcpIntegrationRoutes } from './mcp-integrations.ts';
import { mcpMetadataRoutes } from './mcp-metadata.ts';
import { mcpServerRoutes } from './mcp-servers.ts';
import { snapshotRoutes } from './snapshot.ts';
import { tokenRoutes } from './tokens.ts';
import { usageLimitPolicyRoutes } from './usage-limit-policies.ts';
import { workspaceRoutes } from './workspaces.ts';

export function adminRoutes(deps: AdminDeps, tokens: AccessTokens): Route<Principal>[] {
  return [
    ...tokenRoutes(deps, tokens),
    ...accessPolicyRoutes(deps),
    ...workspaceRoutes(deps),
    ...apiKeyRoutes(deps),
    ...usageLimitPolicyRoutes(deps),
    ...guardrailRoutes(deps),
    ...configRoutes(deps),
    ...guardrailMappingRoutes(deps),
    ...mcpIntegrationRoutes(deps),
    ...mcpCapabilityRoutes(deps),
    ...mcpServerRoutes(deps),
    ...mcpMetadataRoutes(deps),
    ...snapshotRoutes(deps),
  ];
}
