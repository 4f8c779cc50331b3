/** Knows which part of everything a command looks at: some workspaces, or all and the organisation's own resources. */
import { type HeldFault, type Identity, owningWorkspace } from './resource-set.ts';

/** Names of workspaces as manifests have them; null for everything. */
export type WorkspaceScope = ReadonlySet<string> | null;

export function isInScope(identity: Identity, scope: WorkspaceScope): boolean {
  return isNamed(owningWorkspace(identity), scope);
}

/** Whether a fault stands in the scope, or may do so for all that can be read. */
export function concerns({ workspaces }: HeldFault, scope: WorkspaceScope): boolean {
  return workspaces.length === 0 || workspaces.some((workspace) => isNamed(workspace, scope));
}

function isNamed(workspace: string | null, scope: WorkspaceScope): boolean {
  return scope === null || (workspace !== null && scope.has(workspace));
}
