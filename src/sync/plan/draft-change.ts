/** Builds one planned change: the fields that it writes, their reasons, and its references. */
import { kinds } from '../../model/kinds/kinds.ts';
import { type Difference, diffSpecs } from '../diff/diff.ts';
import { replacedValues } from '../diff/sent-fields.ts';
import {
  type DesiredResource,
  type Identity,
  identityKey,
  type LiveResource,
  type Position,
} from '../resources/resource-set.ts';
import { referencesIn } from '../resources/spec-paths.ts';
import { findLoosening, loosensAsWhole } from './loosening.ts';
import type { DraftChange, FieldChange, Reason } from './plan-model.ts';
import type { PlannedRotation } from './rotation.ts';

/**
 * The creation of a resource. Its fields are computed on demand: for a large source they need too
 * much memory.
 */
export class CreateChange implements DraftChange {
  readonly action = 'create';
  readonly id: string;
  readonly identity: Identity;
  readonly position: Position;
  readonly desired: DesiredResource;
  readonly live = null;
  readonly loosens: boolean;
  readonly rotation = null;
  readonly prune = false;
  readonly restores = false;
  readonly reason = 'change';
  readonly needs: readonly string[];
  readonly holds: readonly string[] = nothing;
  readonly frees = null;

  constructor(desired: DesiredResource) {
    const { identity, position, references } = desired;
    this.id = identityKey(identity);
    this.identity = identity;
    this.position = position;
    this.desired = desired;
    this.loosens = loosensAsWhole({ action: this.action, identity });
    this.needs = references.map(identityKey);
  }

  /** Computed on every access. */
  get fields(): readonly FieldChange[] {
    const { identity, spec: desired } = this.desired;
    const sides = { base: null, desired, live: {}, sameReference: () => false };
    return diffSpecs({ kind: kinds[identity.kind], ...sides }).map(harmless);
  }
}

const nothing: readonly string[] = [];

const harmless = (field: Difference): FieldChange => ({ ...field, loosens: false });

/**
 * Builds every change except a creation. The fields come from the comparison; what a write replaces
 * along with them is added here.
 */
export function changeOf(
  parts: Pick<DraftChange, 'live' | 'desired'> & {
    action: Exclude<DraftChange['action'], 'create'>;
    fields: readonly Difference[];
    prune?: boolean;
    renamed?: boolean;
    restores?: boolean;
    rotation?: PlannedRotation | null;
  },
): DraftChange {
  const { live, desired, action, renamed = false, prune = false, rotation = null } = parts;
  const { restores = false } = parts;
  const { identity } = (desired ?? live)!;
  const fields = judgedFields(parts);
  return {
    id: identityKey(identity),
    identity,
    action,
    live,
    desired,
    fields,
    loosens: loosensAsWhole({ action, identity }) || fields.some((field) => field.loosens),
    rotation,
    prune,
    restores,
    reason: renamed ? 'rename' : rotation === null ? mainReason(parts.fields) : 'rotation',
    position: desired?.position ?? null,
    needs: desired === null || desired.absent ? [] : desired.references.map(identityKey),
    holds: live === null ? [] : referencesIn(live.spec),
    frees: freedName(live, desired, action),
  };
}

function judgedFields({
  action,
  live,
  desired,
  fields,
}: Parameters<typeof changeOf>[0]): FieldChange[] {
  if (
    live === null ||
    desired === null ||
    (action !== 'update' && action !== 'adopt' && action !== 'replace' && action !== 'rotate')
  ) {
    return fields.map(harmless);
  }
  const { kind } = desired.identity;
  const all = [
    ...fields,
    ...replacedValues(kinds[kind], desired, live.spec, fields, action === 'replace'),
  ];
  const loose = findLoosening(kind, all, { live: live.spec, desired: desired.spec });
  return all.map((field) => ({ ...field, loosens: loose.has(field) }));
}

/** Returns the name on the server that a change gives up, by a rename or a deletion. */
function freedName(
  live: LiveResource | null,
  desired: DesiredResource | null,
  action: DraftChange['action'],
): string | null {
  if (live === null || action === 'retain') return null;
  const staysNamed = desired !== null && identityKey(desired.identity) === live.declared;
  return staysNamed ? null : live.declared;
}

/** Drift outranks an own change, because a person should see it. */
function mainReason(fields: readonly Difference[]): Reason {
  const reasons = new Set(fields.map((field) => field.reason));
  if (reasons.has('drift')) return 'drift';
  return reasons.has('change') || reasons.size === 0 ? 'change' : 'default-reset';
}
