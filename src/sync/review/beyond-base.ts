/** Knows what a plan does beyond what the plan of another version of its source would do: pure. */
import { sortedText } from '../diff/diff.ts';
import type { FieldChange, Plan, PlannedChange } from '../plan/planned.ts';
import type { Baseline } from '../report/baseline.ts';
import type { Json } from '../resources/resource-set.ts';
import { segmentsOf, valueAt } from '../resources/spec-paths.ts';

/** The plan with what is new in it alone, and the rest. */
export interface BeyondBase {
  readonly plan: Plan;
  readonly baseline: Omit<Baseline, 'ref' | 'commit'>;
}

/**
 * Both plans are of the same state of the server. A field counts as the other's, too, if that would write the
 * same there for the same reason.
 *
 * @param base null where the other version cannot be planned, and does nothing
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
      ...{ blocked, warnings: head.warnings.filter((warning) => !warned.has(warning)) },
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

/** What a change does and the other does not. */
function beyond(change: PlannedChange, other: PlannedChange | undefined): PlannedChange[] {
  if (other === undefined || other.action !== change.action) return [change];
  const known = new Set(other.fields.map((field) => fieldText(field, other)));
  const fields = change.fields.filter((field) => !known.has(fieldText(field, change)));
  if (fields.length === 0 && courseText(change) === courseText(other)) return [];
  if (fields.length === change.fields.length) return [change];
  return [{ ...change, fields, loosens: fields.some(({ loosens }) => loosens) }];
}

/** What both do. */
function shared(change: PlannedChange, other: PlannedChange | undefined): PlannedChange[] {
  if (other === undefined || other.action !== change.action) return [];
  const known = new Set(other.fields.map((field) => fieldText(field, other)));
  const fields = change.fields.filter((field) => known.has(fieldText(field, change)));
  const all = change.fields.length;
  if (fields.length === 0 && (all > 0 || other.fields.length > 0)) return [];
  return [fields.length === all ? change : { ...change, fields }];
}

/** Of a secret only the origin is in the field: whether it is the same value its fingerprint tells. */
function fieldText(field: FieldChange, { desired }: PlannedChange): string {
  const value = field.secret ? valueAt(desired?.spec, segmentsOf(field.path)) : null;
  return sortedText([field as unknown as Json, (value ?? null) as Json]);
}

/** What else than fields tells two changes of one resource apart. */
function courseText({ rotation, reason, prune, desired }: PlannedChange): string {
  const terms =
    desired === null
      ? null
      : [desired.protected, desired.onRemoval, desired.secretOutput, desired.rotation];
  return sortedText([rotation, reason === 'rename', prune, terms] as unknown as Json);
}
