/** Defines which workspaces may use an integration, and their limits for it. */
import { z } from 'zod';
import {
  GrantBudget,
  GrantUsageLimitsInput,
  WorkspaceRateLimits,
} from '../limits/workspace-limits.ts';
import { described } from '../wire/described.ts';
import { type Fault, faultAt } from '../wire/fault.ts';
import { readDocument } from '../wire/json-record.ts';

/** Access of the workspaces that have no entry of their own. */
export const GlobalWorkspaceAccess = z.strictObject({
  enabled: described(z.boolean(), 'Whether workspaces without an entry of their own may use it.'),
});

const budgetMeaning = 'Budget of each workspace without one of its own, counted per workspace.';

/** Like {@link GlobalWorkspaceAccess}, for integrations of model providers, with limits per workspace. */
export const IntegrationAccess = GlobalWorkspaceAccess.extend({
  usage_limits: described(GrantUsageLimitsInput.nullable().optional(), budgetMeaning),
  rate_limits: described(
    WorkspaceRateLimits.nullable().optional(),
    'Rate limits of each workspace without its own: a list of at most one.',
  ),
});
export type IntegrationAccess = z.infer<typeof IntegrationAccess>;

/** {@link IntegrationAccess} in manifests. */
export const DeclaredAccess = IntegrationAccess.extend({
  usage_limits: described(GrantBudget.nullable().optional(), budgetMeaning),
});

/** Parses the stored access of workspaces; absent means enabled. */
export function readAccess(stored: string | null): IntegrationAccess {
  return readDocument<IntegrationAccess>(stored) ?? { enabled: true };
}

/** The stored columns that decide access. */
interface AccessColumns {
  /** Null for an integration of the organisation. */
  readonly workspace_id: string | null;
  readonly global_workspace_access: string | null;
}

/**
 * Whether a workspace may use the integration. A workspace's own integration is available to that
 * workspace only. For others the entry of the workspace (`grant`) decides, then the global access, which
 * is open by default.
 */
export function isGranted(
  integration: AccessColumns,
  grant: { readonly enabled: number } | null | undefined,
  workspaceId: string,
): boolean {
  if (integration.workspace_id !== null) return integration.workspace_id === workspaceId;
  if (grant !== null && grant !== undefined) return grant.enabled !== 0;
  return isOpenToAll(integration);
}

/** Whether workspaces without an entry of their own may use the integration. */
export function isOpenToAll({ global_workspace_access: stored }: AccessColumns): boolean {
  return readAccess(stored).enabled;
}

/** Whether a stored list of limits is not empty. */
export function hasLimits(stored: string | null): boolean {
  return (readDocument<readonly unknown[]>(stored) ?? []).length > 0;
}

/** Key of a workspace's own counter under limits that apply to all workspaces. */
export function accessValueKey(workspaceId: string): string {
  return accessKeyPrefix + workspaceId;
}

/** Null for a key of another form. */
export function workspaceOfAccessKey(valueKey: string): string | null {
  return valueKey.startsWith(accessKeyPrefix) ? valueKey.slice(accessKeyPrefix.length) : null;
}

const accessKeyPrefix = 'workspace_id:';

/** Rejects access rules on an integration that belongs to one workspace. */
export function workspaceIntegrationFaults(body: {
  readonly workspaces?: unknown;
  readonly global_workspace_access?: unknown;
}): Fault[] {
  const message = 'is only allowed for an integration of the organisation';
  return (['workspaces', 'global_workspace_access'] as const).flatMap((field) =>
    faultAt(field, body[field] === undefined ? null : message),
  );
}
