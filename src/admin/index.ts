/** Assembles the routes of the Admin API. */
import type { AccessTokens } from '../auth/access-token.ts';
import type { Principal } from '../auth/principal.ts';
import type { Route } from '../http/routes/route.ts';
import type { Feature } from '../settings.ts';
import { enforceRights } from './access/visibility.ts';
import { attentionRoutes } from './attention.ts';
import { changeSetRoutes } from './changes/change-sets.ts';
import { guardrailCatalogueRoutes } from './guardrails/guardrail-catalogue.ts';
import { guardrailTrialRoutes } from './guardrails/guardrail-trials.ts';
import { pluginRoutes } from './guardrails/plugins.ts';
import { workspaceExclusionRoutes } from './guardrails/workspace-exclusions.ts';
import { accessPolicyRoutes } from './identity/access-policies.ts';
import { iamScopeRoutes } from './identity/iam-scopes.ts';
import { organisationAuthRoutes } from './identity/organisation-auth-settings.ts';
import { organisationRoutes } from './identity/organisations.ts';
import { tokenRoutes } from './identity/tokens.ts';
import { analyticsRoutes } from './logs/analytics/analytics.ts';
import { graphRoutes } from './logs/analytics/graphs.ts';
import { requestGroupRoutes } from './logs/analytics/request-groups.ts';
import { auditLogRoutes } from './logs/audit-logs.ts';
import { logExportFileRoutes } from './logs/exports/log-export-file.ts';
import { logExportRoutes } from './logs/exports/log-exports.ts';
import { feedbackRoutes } from './logs/feedback.ts';
import { logBatchRoutes } from './logs/log-batches.ts';
import { reportedLogRoutes } from './logs/reported-logs.ts';
import { requestLogRoutes } from './logs/request-logs.ts';
import { telemetryChartRoutes } from './logs/telemetry/telemetry-charts.ts';
import { telemetryLogRoutes } from './logs/telemetry/telemetry-logs.ts';
import { mcpCapabilityRoutes } from './mcp/mcp-capabilities.ts';
import { mcpConnectionRoutes } from './mcp/mcp-connections.ts';
import { mcpDefinitionRoutes } from './mcp/mcp-definitions.ts';
import { mcpIntegrationWorkspaceRoutes } from './mcp/mcp-integration-workspaces.ts';
import { mcpMetadataRoutes } from './mcp/mcp-metadata.ts';
import { mcpRegistryRoutes } from './mcp/mcp-registry.ts';
import { mcpSyncRoutes } from './mcp/mcp-syncs.ts';
import { mcpUserAccessRoutes } from './mcp/mcp-user-access.ts';
import { inviteRoutes } from './people/invites.ts';
import { scimDiscoveryRoutes } from './people/scim-discovery.ts';
import { scimGroupRoutes } from './people/scim-groups.ts';
import { scimUserRoutes } from './people/scim-users.ts';
import { sessionRoutes } from './people/sessions.ts';
import { signInRoutes } from './people/sign-in.ts';
import { signInByLinkRoutes, signInLinkRoutes } from './people/sign-in-links.ts';
import { userRoutes } from './people/users.ts';
import { aiProviderRoutes } from './providers/ai-providers.ts';
import { integrationModelRoutes } from './providers/integration-models.ts';
import { integrationWorkspaceRoutes } from './providers/integration-workspaces.ts';
import { modelPricingRoutes } from './providers/model-pricing.ts';
import { virtualKeyRoutes } from './providers/virtual-keys.ts';
import { withDeclarations } from './request/declared-in.ts';
import type { AdminDeps } from './request/deps.ts';
import { createIdempotency } from './request/idempotency.ts';
import { acceptOrganisationInQuery } from './request/organisation-in-query.ts';
import { acceptWorkspaceInQuery } from './request/workspace-in-query.ts';
import { resources } from './resources.ts';
import { snapshotRoutes } from './snapshot.ts';
import { keyProofRoutes } from './sync/key-proofs.ts';
import { keyUseRoutes } from './sync/key-uses.ts';
import { leaseRoutes } from './sync/leases.ts';
import { syncReleaseRoutes } from './sync/releases.ts';
import { syncRevisionRoutes } from './sync/revisions.ts';
import { syncSourceRoutes } from './sync/sources.ts';
import { syncStatusRoutes } from './sync/status.ts';
import { syncSuspensionRoutes } from './sync/suspensions.ts';
import { workspaceMemberRoutes } from './workspaces/workspace-members.ts';

/** `further` are routes of rooms above this one, which get the same treatment. */
export function adminRoutes(
  adminDeps: AdminDeps,
  tokens: AccessTokens,
  further: (deps: AdminDeps) => Route<Principal>[],
): Route<Principal>[] {
  const { deps, wrap } = createIdempotency(adminDeps);
  const contents = resources.flatMap((resource) => resource.contents ?? []);
  const routes = [
    ...tokenRoutes(deps, tokens),
    ...accessPolicyRoutes(deps),
    ...iamScopeRoutes(deps),
    ...organisationRoutes(deps),
    ...organisationAuthRoutes(deps),
    ...withFeatures(['guardrails'], pluginRoutes()),
    ...withFeatures(['guardrails'], guardrailTrialRoutes(deps)),
    ...resources.flatMap(({ kind, features, routes }) =>
      withFeatures(features, withDeclarations(deps, kind, routes(deps, contents))),
    ),
    ...withFeatures(['guardrails'], workspaceExclusionRoutes(deps)),
    ...withFeatures(['mcp'], mcpCapabilityRoutes(deps)),
    ...withFeatures(['mcp'], mcpDefinitionRoutes(deps)),
    ...withFeatures(['mcp'], mcpIntegrationWorkspaceRoutes(deps)),
    ...withFeatures(['mcp'], mcpMetadataRoutes(deps)),
    ...withFeatures(['mcp'], mcpRegistryRoutes(deps)),
    ...withFeatures(['mcp'], mcpSyncRoutes(deps)),
    ...withFeatures(['mcp'], mcpUserAccessRoutes(deps)),
    ...withFeatures(['mcp'], mcpConnectionRoutes(deps)),
    ...integrationModelRoutes(deps),
    ...integrationWorkspaceRoutes(deps),
    ...aiProviderRoutes(),
    ...guardrailCatalogueRoutes(),
    ...virtualKeyRoutes(deps),
    ...userRoutes(deps),
    ...inviteRoutes(deps),
    ...sessionRoutes(deps),
    ...signInLinkRoutes(deps),
    ...withFeatures(['scim'], scimDiscoveryRoutes()),
    ...withFeatures(['scim'], scimUserRoutes(deps)),
    ...withFeatures(['scim'], scimGroupRoutes(deps)),
    ...workspaceMemberRoutes(deps),
    ...logBatchRoutes(deps),
    ...requestLogRoutes(deps),
    ...reportedLogRoutes(deps),
    ...auditLogRoutes(deps),
    ...logExportRoutes(deps),
    ...analyticsRoutes(deps),
    ...graphRoutes(deps),
    ...feedbackRoutes(deps),
    ...requestGroupRoutes(deps),
    ...telemetryChartRoutes(deps),
    ...telemetryLogRoutes(deps),
    ...attentionRoutes(deps),
    ...snapshotRoutes(deps, resources),
    ...changeSetRoutes(deps),
    ...leaseRoutes(deps),
    ...keyProofRoutes(deps),
    ...keyUseRoutes(deps),
    ...syncStatusRoutes(deps),
    ...syncReleaseRoutes(deps),
    ...syncSourceRoutes(deps),
    ...syncRevisionRoutes(deps),
    ...syncSuspensionRoutes(deps),
    ...further(deps),
  ];
  return routes.map((route) =>
    acceptOrganisationInQuery(acceptWorkspaceInQuery(wrap(enforceRights(deps, route)))),
  );
}

function withFeatures(
  features: readonly Feature[],
  routes: readonly Route<Principal>[],
): Route<Principal>[] {
  return routes.map((route) => (features.length === 0 ? route : { ...route, features }));
}

/**
 * Pages that browsers open without a credential; no part of the API that programs use.
 * `requireConnection` throws until the database is known to be the right one.
 */
export function browserRoutes(deps: AdminDeps, requireConnection: () => void): Route<null>[] {
  return withConnection(signInRoutes(deps), requireConnection);
}

/** Like {@link browserRoutes}, for API routes whose URL, body or content needs no credential. */
export function publicRoutes(deps: AdminDeps, requireConnection: () => void): Route<null>[] {
  const own = [...logExportFileRoutes(deps), ...signInByLinkRoutes(deps)];
  return [...withConnection(own, requireConnection), ...modelPricingRoutes()];
}

function withConnection(
  routes: readonly Route<null>[],
  requireConnection: () => void,
): Route<null>[] {
  return routes.map((route) => ({
    ...route,
    handle: async (request) => {
      requireConnection();
      return route.handle(request);
    },
  }));
}
