/** Defines plans: the changes to carry out, and what is blocked and why. */

import type { Difference } from '../diff/diff.ts';
import type { IgnoredField } from '../diff/ignored-fields.ts';
import type {
  DesiredResource,
  HeldFault,
  Identity,
  LeftAlone,
  LiveResource,
  Position,
  SourceInfo,
} from '../resources/resource-set.ts';
import type { Orderable, OrderedChange } from './order.ts';
import type { BlockReason } from './ownership.ts';
import type { PlannedRotation, RotationState } from './rotation.ts';

export type Reason = 'change' | 'drift' | 'default-reset' | 'rename' | 'rotation';

/** One value to write, with its effect. */
export interface FieldChange extends Difference {
  /** Whether it loosens access. */
  readonly loosens: boolean;
}

/** One change before its order is known. */
export interface DraftChange extends Orderable {
  readonly identity: Identity;
  /** The live resource; null for a creation. */
  readonly live: LiveResource | null;
  /** With fingerprints; null when it left the source. */
  readonly desired: DesiredResource | null;
  readonly reason: Reason;
  readonly fields: readonly FieldChange[];
  /** Whether it loosens access, by a field or as a whole. */
  readonly loosens: boolean;
  /** The rotation of a key; null for other changes. */
  readonly rotation: PlannedRotation | null;
  /** A deletion because the manifest is gone; a tombstone is not one. */
  readonly prune: boolean;
  /**
   * Whether it only undoes changes by others: it writes what was applied last, and the manifest
   * still says the same.
   */
  readonly restores: boolean;
}

export interface PlannedChange extends DraftChange, Omit<OrderedChange<DraftChange>, 'change'> {}

export interface BlockedItem {
  readonly id: string;
  readonly identity: Identity;
  readonly position: Position | null;
  readonly reason: BlockReason;
  readonly message: string;
}

export interface UnmanagedResource extends Identity {
  readonly resourceId: string;
}

export interface Plan {
  readonly owner: string;
  readonly source: SourceInfo;
  /** Etag of the live set that the plan was made from. */
  readonly etag: string;
  /** In execution order. */
  readonly changes: readonly PlannedChange[];
  readonly blocked: readonly BlockedItem[];
  /** Number of desired resources without any difference. */
  readonly unchanged: number;
  readonly desired: number;
  /** The compared part of the source, with fingerprints. */
  readonly wanted: readonly DesiredResource[];
  /** Number of live resources of this owner. */
  readonly owned: number;
  /** Live resources without an owner; never changed. */
  readonly unmanaged: readonly UnmanagedResource[];
  /**
   * Parts of the live state that a newer server reports and this version does not know; never
   * changed.
   */
  readonly unknown: readonly string[];
  readonly leftAlone: LeftAlone;
  /** Faults of the source; the workspaces that they hold back are left alone. */
  readonly faults: readonly HeldFault[];
  /** Fields with `ignoreFields` on existing resources. */
  readonly ignored: readonly IgnoredField[];
  readonly warnings: readonly string[];
  /** Time of the next key rotation, ms since the epoch; null when none is known. */
  readonly nextRotationAt: number | null;
  /** Live resources by identity key, for resolving references. */
  readonly live: ReadonlyMap<string, LiveResource>;
}

/** A plan under construction; a blocked item has no change. */
export class PlanDraft {
  readonly changes = new Map<string, DraftChange>();
  readonly blocked = new Map<string, BlockedItem>();
  readonly ignored: IgnoredField[] = [];
  unchanged = 0;
  /** Messages about rotations that wait. */
  readonly hints: string[] = [];
  nextRotationAt: number | null = null;

  /** Returns a draft with the same items, whose changes may be blocked independently. */
  copy(): PlanDraft {
    const copy = new PlanDraft();
    for (const [id, change] of this.changes) copy.changes.set(id, change);
    for (const [id, item] of this.blocked) copy.blocked.set(id, item);
    for (const field of this.ignored) copy.ignored.push(field);
    for (const hint of this.hints) copy.hints.push(hint);
    copy.unchanged = this.unchanged;
    copy.nextRotationAt = this.nextRotationAt;
    return copy;
  }

  note({ hint, nextAt }: Pick<RotationState, 'hint' | 'nextAt'>): void {
    if (hint !== null) this.hints.push(hint);
    if (nextAt !== null) this.nextRotationAt = Math.min(nextAt, this.nextRotationAt ?? nextAt);
  }

  add(change: DraftChange): void {
    this.changes.set(change.id, change);
  }

  /**
   * Drops everything except rotations, including other fields of rotated keys and blocked items.
   */
  keepRotations(): void {
    this.blocked.clear();
    for (const change of [...this.changes.values()]) {
      if (change.action === 'rotate') this.add({ ...change, fields: [], loosens: false });
      else this.changes.delete(change.id);
    }
  }

  /** Drops everything except restoring changes, including blocked items. */
  keepRestored(): void {
    this.blocked.clear();
    for (const { id, restores } of [...this.changes.values()]) {
      if (!restores) this.changes.delete(id);
    }
  }

  block(item: BlockedItem): void {
    this.changes.delete(item.id);
    this.blocked.set(item.id, item);
  }
}
