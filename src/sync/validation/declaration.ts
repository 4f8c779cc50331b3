/** Summarises a checked manifest for the checks across the source. */

import { providerReferences } from '../../model/configs/provider-references.ts';
import { guardrailNames } from '../../model/kinds/guardrail-names.ts';
import { isUuid } from '../../model/wire/slug-forms.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { claimsDefault } from '../resources/default-claim.ts';
import type { DesiredResource, Identity } from '../resources/resource-set.ts';
import type { Segments } from '../yaml/yaml-position.ts';
import type { Canonical } from './canonical.ts';
import { type PendingReference, workspacePlace } from './placeholders.ts';
import { writtenPath } from './spec-faults.ts';

/**
 * Does not contain the spec, so that a large source can be checked without holding it in memory.
 */
export interface Declaration {
  readonly identity: Identity;
  readonly place: Manifest['place'];
  readonly absent: boolean;
  readonly previousNames: readonly string[];
  readonly slug: unknown;
  /** `spec.name`, which is the name of the manifest by default. */
  readonly displayName: string;
  /** Providers that a config names by slug. */
  readonly namedProviders: readonly NamedBySlug[];
  /** Guardrails that it names by slug or id. */
  readonly namedGuardrails: readonly NamedBySlug[];
  /** Whether it is to be the default of its kind in its workspace. */
  readonly isDefault: boolean;
  readonly secretOutput: DesiredResource['secretOutput'];
  /** Every reference, including the one to the workspace. */
  readonly references: readonly PendingReference[];
}

/** A slug that a manifest names. */
interface NamedBySlug {
  readonly slug: string;
  /** Path of the name in the manifest. */
  readonly written: Segments;
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
  { place, absent, previousNames, spec: writtenSpec }: Manifest,
  { spec, secretOutput, references }: Canonical,
): Declaration {
  return {
    identity,
    place,
    absent,
    previousNames,
    slug: spec.slug,
    displayName: typeof spec.name === 'string' ? spec.name : identity.name,
    namedProviders:
      identity.kind === 'Config' ? namedProviders(writtenSpec, spec.config) : noProviders,
    namedGuardrails: guardrailNames(identity.kind, spec).map(({ path, name }) => ({
      slug: name,
      written: writtenPath(writtenSpec, path),
    })),
    isDefault: claimsDefault(spec),
    secretOutput,
    references: withWorkspace(references, identity.workspace),
  };
}

const noProviders: readonly NamedBySlug[] = [];

/** Ids are not included: only the server knows them. */
function namedProviders(written: unknown, document: unknown): NamedBySlug[] {
  return providerReferences(document)
    .filter(({ provider }) => !isUuid(provider))
    .map(({ path, provider }) => ({
      slug: provider,
      written: writtenPath(written, ['config', ...path.map(String)]),
    }));
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
