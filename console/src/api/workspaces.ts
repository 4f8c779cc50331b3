/** Holds the workspaces that the navigation has loaded, so that pages can name them without a request. */
import { signal } from '@preact/signals';

interface WorkspaceName {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
}

/** The first 100 workspaces that the user can see. */
export const workspaces = signal<readonly WorkspaceName[]>([]);

/** How many more workspaces there are than those. */
export const workspacesBeyond = signal(0);

/** The name of a workspace, or its id where the name is not loaded; null for the whole organisation. */
export function nameOfWorkspace(id: string | null): string {
  if (id === null || id === '') return 'Organisation';
  return workspaces.value.find((one) => one.id === id)?.name ?? id;
}
