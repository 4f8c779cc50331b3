/**
 * Defines the scope of a command: some workspaces, or everything including organisation-level
 * resources.
 */
import { type HeldFault, type Identity, owningWorkspace } from './resource-set.ts';

/** Workspace names as in manifests; null for everything. */
export type WorkspaceScope = ReadonlySet<string> | null;

export function isInScope(identity: Identity, scope: WorkspaceScope): boolean {
  return isNamed(owningWorkspace(identity), scope);
}

/** Returns whether a fault affects the scope, or may as far as can be read. */
export function concerns({ workspaces }: HeldFault, scope: WorkspaceScope): boolean {
  return workspaces.length === 0 || workspaces.some((workspace) => isNamed(workspace, scope));
}

function isNamed(workspace: string | null, scope: WorkspaceScope): boolean {
  return scope === null || (workspace !== null && scope.has(workspace));
}
