/** Knows which workspaces may use an integration, and under whose limits. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { type Fault, faultAt } from '../wire/fault.ts';
import { readDocument } from '../wire/json-record.ts';
import { GrantUsageLimits, WorkspaceRateLimits } from '../limits/workspace-limits.ts';

/** Who may use an integration of the organisation beside the workspaces that are named. */
export const GlobalWorkspaceAccess = z.strictObject({
  enabled: described(z.boolean(), 'Whether workspaces of which nothing else is said may use it.'),
});

/** The same of an integration at a model provider, and how much each of these workspaces may use. */
export const IntegrationAccess = GlobalWorkspaceAccess.extend({
  usage_limits: described(
    GrantUsageLimits.nullable().optional(),
    'Budget of each workspace of which no other is said, counted for it alone: a list of at most one.',
  ),
  rate_limits: described(
    WorkspaceRateLimits.nullable().optional(),
    'Rate limits of each workspace of which no others are said: a list of at most one.',
  ),
});
export type IntegrationAccess = z.infer<typeof IntegrationAccess>;

/** What is said of all workspaces, as it is stored. */
export function readAccess(stored: string | null): IntegrationAccess {
  return readDocument<IntegrationAccess>(stored) ?? { enabled: true };
}

/** What decides about workspaces, as it is stored. */
interface Place {
  /** Null for one of the organisation. */
  readonly workspace_id: string | null;
  readonly global_workspace_access: string | null;
}

/**
 * Whether a workspace may use the integration: its own; one of the organisation as `grant` says, which
 * is what is said of the workspace by name, else as is said of all. Nothing said lets everyone in.
 */
export function isGranted(
  integration: Place,
  grant: { readonly enabled: number } | null | undefined,
  workspaceId: string,
): boolean {
  if (integration.workspace_id !== null) return integration.workspace_id === workspaceId;
  if (grant !== null && grant !== undefined) return grant.enabled !== 0;
  return isOpenToAll(integration);
}

/** Whether workspaces of which nothing is said may use the integration. */
export function isOpenToAll({ global_workspace_access: stored }: Place): boolean {
  return readAccess(stored).enabled;
}

/** Whether a list of limits that is stored says any. */
export function hasLimits(stored: string | null): boolean {
  return (readDocument<readonly unknown[]>(stored) ?? []).length > 0;
}

/** Tells the counter of one workspace from those of others, of limits that are said of all. */
export function accessValueKey(workspaceId: string): string {
  return `workspace_id:${workspaceId}`;
}

/** Of an integration that belongs to a workspace: who else may use it is no question. */
export function ownedFaults(body: {
  readonly workspaces?: unknown;
  readonly global_workspace_access?: unknown;
}): Fault[] {
  const message = 'is for an integration of the organisation';
  return (['workspaces', 'global_workspace_access'] as const).flatMap((field) =>
    faultAt(field, body[field] === undefined ? null : message),
  );
}
