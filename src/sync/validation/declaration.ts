/** Summarises a checked manifest for the checks across the source. */

import type { Manifest } from '../manifest/manifest.ts';
import { claimsDefault } from '../resources/default-claim.ts';
import type { DesiredResource, Identity } from '../resources/resource-set.ts';
import type { Canonical } from './canonical.ts';
import { type PendingReference, workspacePlace } from './placeholders.ts';

/**
 * Does not contain the spec, so that a large source can be checked without holding it in memory.
 */
export interface Declaration {
  readonly identity: Identity;
  readonly place: Manifest['place'];
  readonly absent: boolean;
  readonly previousNames: readonly string[];
  readonly slug: unknown;
  /** Whether it is to be the default of its kind in its workspace. */
  readonly isDefault: boolean;
  readonly secretOutput: DesiredResource['secretOutput'];
  /** Every reference, including the one to the workspace. */
  readonly references: readonly PendingReference[];
}

/** The canonical form of a tombstone. */
export const noCanonical: Canonical = {
  spec: {},
  secrets: new Map(),
  references: [],
  secretOutput: null,
  rotation: null,
  ignoreFields: undefined,
};

export function declarationOf(
  identity: Identity,
  { place, absent, previousNames }: Manifest,
  { spec, secretOutput, references }: Canonical,
): Declaration {
  return {
    identity,
    place,
    absent,
    previousNames,
    slug: spec.slug,
    isDefault: claimsDefault(spec),
    secretOutput,
    references: withWorkspace(references, identity.workspace),
  };
}

/** Adds the workspace reference for kinds that do not send it, and for tombstones. */
function withWorkspace(
  references: readonly PendingReference[],
  workspace: string | null,
): readonly PendingReference[] {
  const isThere = references.some(({ written }) => written === workspacePlace);
  if (workspace === null || isThere) return references;
  const added = { text: workspace, written: workspacePlace, placeholder: null };
  return [...references, { kind: 'Workspace', ...added }];
}
