/** Subtracts the plan of another version of the source from a plan. */
import { sortedText } from '../diff/diff.ts';
import type { FieldChange, Plan, PlannedChange } from '../plan/plan-model.ts';
import type { Baseline } from '../report/baseline.ts';
import type { SpecJson } from '../resources/resource-set.ts';
import { segmentsOf, valueAt } from '../resources/spec-paths.ts';

/** The remaining plan, and what both plans do. */
export interface BeyondBase {
  readonly plan: Plan;
  readonly baseline: Omit<Baseline, 'ref' | 'commit'>;
}

/**
 * Both plans must be of the same live state. A field counts as shared if the other plan would write
 * the same value for the same reason.
 *
 * @param base null when the other version cannot be planned; then nothing is shared
 */
export function beyondBase(head: Plan, base: Plan | null): BeyondBase {
  const before = new Map((base?.changes ?? []).map((change) => [change.id, change]));
  const after = new Map(head.changes.map((change) => [change.id, change]));
  const held = new Set((base?.blocked ?? []).map(heldText));
  const blocked = head.blocked.filter((item) => !held.has(heldText(item)));
  const warned = new Set(base?.warnings ?? []);
  return {
    plan: {
      ...head,
      blocked,
      warnings: head.warnings.filter((warning) => !warned.has(warning)),
      changes: head.changes.flatMap((change) => beyond(change, before.get(change.id))),
    },
    baseline: {
      already: [...after.values()].flatMap((change) => shared(change, before.get(change.id))),
      undone: [...before.values()].flatMap((change) => beyond(change, after.get(change.id))),
      blockedAlready: head.blocked.length - blocked.length,
    },
  };
}

function heldText({ id, reason }: Plan['blocked'][number]): string {
  return `${id} ${reason}`;
}

/** Returns the part of a change that the other does not make. */
function beyond(change: PlannedChange, other: PlannedChange | undefined): PlannedChange[] {
  if (other === undefined || other.action !== change.action) return [change];
  const known = new Set(other.fields.map((field) => fieldText(field, other)));
  const fields = change.fields.filter((field) => !known.has(fieldText(field, change)));
  if (fields.length === 0 && courseText(change) === courseText(other)) return [];
  if (fields.length === change.fields.length) return [change];
  return [{ ...change, fields, loosens: fields.some(({ loosens }) => loosens) }];
}

/** Returns the part of a change that both make. */
function shared(change: PlannedChange, other: PlannedChange | undefined): PlannedChange[] {
  if (other === undefined || other.action !== change.action) return [];
  const known = new Set(other.fields.map((field) => fieldText(field, other)));
  const fields = change.fields.filter((field) => known.has(fieldText(field, change)));
  const all = change.fields.length;
  if (fields.length === 0 && (all > 0 || other.fields.length > 0)) return [];
  return [fields.length === all ? change : { ...change, fields }];
}

/** A field contains only the origin of a secret, so its fingerprint is compared. */
function fieldText(field: FieldChange, { desired }: PlannedChange): string {
  const value = field.secret ? valueAt(desired?.spec, segmentsOf(field.path)) : null;
  return sortedText([field as unknown as SpecJson, (value ?? null) as SpecJson]);
}

/** Returns what distinguishes two changes of one resource besides their fields. */
function courseText({ rotation, reason, prune, desired }: PlannedChange): string {
  const terms =
    desired === null
      ? null
      : [desired.protected, desired.onRemoval, desired.secretOutput, desired.rotation];
  return sortedText([rotation, reason === 'rename', prune, terms] as unknown as SpecJson);
}
