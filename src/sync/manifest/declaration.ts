/** Knows one resource of a source whose manifest has been checked, as far as its references. */
import type { Identity, Position, Spec } from '../spec/resource-set.ts';
import { segmentsOf } from '../spec/spec-paths.ts';
import type { Canonical } from './canonical.ts';
import type { Manifest } from './manifest.ts';
import type { PendingReference } from './placeholders.ts';
import { writtenPath } from './spec-faults.ts';

export interface Declaration {
  readonly identity: Identity;
  readonly manifest: Manifest;
  readonly canonical: Canonical;
}

/** What the spec of a tombstone comes to. */
export const noCanonical: Canonical = {
  spec: {},
  secrets: new Map(),
  references: [],
  secretOutput: null,
};

/** What is left to ask of a resource once its spec has been checked: who it is and what it claims. */
export function withoutSpec({ identity, manifest, canonical }: Declaration): Declaration {
  const { slug } = canonical.spec;
  const spec: Spec = slug === undefined ? {} : { slug };
  return {
    identity,
    manifest: { ...manifest, spec: {} },
    canonical: { ...canonical, spec, secrets: noCanonical.secrets },
  };
}

/** Where a place of the canonical spec, as JSON pointer, stands in the source. */
export function positionIn({ place, spec }: Manifest, pointer: string): Position {
  return place.at(writtenPath(spec, segmentsOf(pointer)));
}

/** Every reference of a resource, its workspace included. */
export function referencesOf({ identity, canonical }: Declaration): readonly PendingReference[] {
  const { references } = canonical;
  const isReferred = references.some(({ written }) => written[0] === 'metadata');
  return identity.workspace === null || isReferred
    ? references
    : [...references, workspaceOf(identity.workspace)];
}

/** The workspace of a kind that does not send it, or of a resource that is to be absent. */
function workspaceOf(text: string): PendingReference {
  const written = ['metadata', 'workspace'];
  return { kind: 'Workspace', text, written, resolve: () => undefined };
}
