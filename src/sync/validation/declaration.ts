/** Knows what the rest of a source may ask of one resource whose manifest has been checked. */

import type { Manifest } from '../manifest/manifest.ts';
import { claimsDefault } from '../resources/default-claim.ts';
import type { DesiredResource, Identity } from '../resources/resource-set.ts';
import type { Canonical } from './canonical.ts';
import { type PendingReference, workspacePlace } from './placeholders.ts';

/** Holds no spec, so that a large source can be checked without keeping it. */
export interface Declaration {
  readonly identity: Identity;
  readonly place: Manifest['place'];
  readonly absent: boolean;
  readonly previousNames: readonly string[];
  readonly slug: unknown;
  /** Whether it is to be the one default of its kind in its place. */
  readonly isDefault: boolean;
  readonly secretOutput: DesiredResource['secretOutput'];
  /** Every reference, that to the workspace included. */
  readonly references: readonly PendingReference[];
}

/** What the spec of a tombstone comes to. */
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

/** Adds the workspace of a kind that does not send it, or of a resource that is to be absent. */
function withWorkspace(
  references: readonly PendingReference[],
  workspace: string | null,
): readonly PendingReference[] {
  const isThere = references.some(({ written }) => written === workspacePlace);
  if (workspace === null || isThere) return references;
  const added = { text: workspace, written: workspacePlace, placeholder: null };
  return [...references, { kind: 'Workspace', ...added }];
}
