/** Knows the whole Admin API: the routes of every resource, in one list. */
import type { AccessTokens } from '../auth/access-token.ts';
import type { Principal } from '../auth/principal.ts';
import type { Route } from '../http/route.ts';
import type { Feature } from '../settings.ts';
import { apiKeyRoutes } from './api-keys/api-keys.ts';
import { configRoutes } from './configs/configs.ts';
import { guardrailMappingRoutes } from './guardrails/guardrail-mappings.ts';
import { guardrailRoutes } from './guardrails/guardrails.ts';
import { accessPolicyRoutes } from './identity/access-policies.ts';
import { tokenRoutes } from './identity/tokens.ts';
import { mcpCapabilityRoutes } from './mcp/mcp-capabilities.ts';
import { mcpIntegrationRoutes } from './mcp/mcp-integrations.ts';
import { mcpMetadataRoutes } from './mcp/mcp-metadata.ts';
import { mcpServerRoutes } from './mcp/mcp-servers.ts';
import type { AdminDeps } from './request/deps.ts';
import { snapshotRoutes } from './snapshot.ts';
import { leaseRoutes } from './sync/leases.ts';
import { usageLimitPolicyRoutes } from './usage-limits/usage-limit-policies.ts';
import { workspaceRoutes } from './workspaces/workspaces.ts';

export function adminRoutes(deps: AdminDeps, tokens: AccessTokens): Route<Principal>[] {
  return [
    ...tokenRoutes(deps, tokens),
    ...accessPolicyRoutes(deps),
    ...workspaceRoutes(deps),
    ...governed(['apiAccess'], apiKeyRoutes(deps)),
    ...governed(['policy', 'usageLimits'], usageLimitPolicyRoutes(deps)),
    ...governed(['guardrails'], guardrailRoutes(deps)),
    ...configRoutes(deps),
    ...governed(['guardrails'], guardrailMappingRoutes(deps)),
    ...governed(['mcp'], mcpIntegrationRoutes(deps)),
    ...governed(['mcp'], mcpCapabilityRoutes(deps)),
    ...governed(['mcp'], mcpServerRoutes(deps)),
    ...governed(['mcp'], mcpMetadataRoutes(deps)),
    ...snapshotRoutes(deps),
    ...leaseRoutes(deps),
  ];
}

/** The one place that says which switches turn a family of routes off; any of them does. */
function governed(
  features: readonly Feature[],
  routes: readonly Route<Principal>[],
): Route<Principal>[] {
  return routes.map((route) => ({ ...route, features }));
}
