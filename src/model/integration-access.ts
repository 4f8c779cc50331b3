/** Knows which workspaces may use an integration, and which of its models. */
import { readDocument } from './json-record.ts';

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
  return readDocument<{ enabled: boolean }>(stored)?.enabled ?? true;
}
