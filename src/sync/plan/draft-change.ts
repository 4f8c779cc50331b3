/** Knows one planned change while it is being made: everything that it writes and takes, and why. */
import { kinds } from '../../model/kinds.ts';
import { type DesiredResource, identityKey, type LiveResource } from '../spec/resource-set.ts';
import { referencesIn } from '../spec/spec-paths.ts';
import type { Difference } from './diff.ts';
import { findLoosening, loosensAsWhole } from './loosening.ts';
import type { DraftChange, FieldChange, Reason } from './planned.ts';
import type { PlannedRotation } from './rotation.ts';
import { takenAlong } from './sent-fields.ts';

/** Fields come from the comparison; what a write takes along is added here. */
export function changeOf(
  parts: Pick<DraftChange, 'action' | 'live' | 'desired'> & {
    fields: readonly Difference[];
    prune?: boolean;
    renamed?: boolean;
    rotation?: PlannedRotation | null;
  },
): DraftChange {
  const { live, desired, action, renamed = false, prune = false, rotation = null } = parts;
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
    return fields.map((field) => ({ ...field, loosens: false }));
  }
  const { kind } = desired.identity;
  const all = [
    ...fields,
    ...takenAlong(kinds[kind], desired, live.spec, fields, action === 'replace'),
  ];
  const loose = findLoosening(kind, all, { live: live.spec, desired: desired.spec });
  return all.map((field) => ({ ...field, loosens: loose.has(field) }));
}

/** The name on the server that a change gives up: by taking another, or by going. */
function freedName(
  live: LiveResource | null,
  desired: DesiredResource | null,
  action: DraftChange['action'],
): string | null {
  if (live === null || action === 'retain') return null;
  const staysNamed = desired !== null && identityKey(desired.identity) === live.declared;
  return staysNamed ? null : live.declared;
}

/** Drift outranks a change of ours, because somebody else should know of it. */
function mainReason(fields: readonly Difference[]): Reason {
  const reasons = new Set(fields.map((field) => field.reason));
  if (reasons.has('drift')) return 'drift';
  return reasons.has('change') || reasons.size === 0 ? 'change' : 'default-reset';
}
