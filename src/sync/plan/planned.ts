/** Knows what a plan is made of: changes to carry out, and what must be left alone and why. */

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
import type { Orderable, Ordered } from './order.ts';
import type { BlockReason } from './ownership.ts';
import type { PlannedRotation, RotationState } from './rotation.ts';

export type Reason = 'change' | 'drift' | 'default-reset' | 'rename' | 'rotation';

/** One value to write, with what it means. */
export interface FieldChange extends Difference {
  /** Whether it loosens access. */
  readonly loosens: boolean;
}

/** One change before its order is known. */
export interface DraftChange extends Orderable {
  readonly identity: Identity;
  /** What is on the server; null for a create. */
  readonly live: LiveResource | null;
  /** With fingerprints filled in; null for what left the source. */
  readonly desired: DesiredResource | null;
  readonly reason: Reason;
  readonly fields: readonly FieldChange[];
  /** Whether it loosens access, by a field or as a whole. */
  readonly loosens: boolean;
  /** Of a key that gets another value; null of any other change. */
  readonly rotation: PlannedRotation | null;
  /** A delete nobody wrote down: the manifest is gone. Tombstones are none. */
  readonly prune: boolean;
  /** Nothing but what others changed: it writes what was applied last, of which the manifest says the same. */
  readonly restores: boolean;
}

export interface PlannedChange extends DraftChange, Omit<Ordered<DraftChange>, 'change'> {}

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
  /** Of the live set it was made from. */
  readonly etag: string;
  /** In the order in which they are to be carried out. */
  readonly changes: readonly PlannedChange[];
  readonly blocked: readonly BlockedItem[];
  /** Wanted resources that are exactly as wanted. */
  readonly unchanged: number;
  readonly desired: number;
  /** What of the source is looked at, with fingerprints filled in. */
  readonly wanted: readonly DesiredResource[];
  /** Live resources of this owner. */
  readonly owned: number;
  /** On the server, and nobody's: never touched. */
  readonly unmanaged: readonly UnmanagedResource[];
  /** What a newer server has and this version does not know: never touched. */
  readonly unknown: readonly string[];
  readonly leftAlone: LeftAlone;
  /** What is wrong with the source: the workspaces that each holds are left as they are. */
  readonly faults: readonly HeldFault[];
  /** Of what is on the server; empty of all else. */
  readonly ignored: readonly IgnoredField[];
  readonly warnings: readonly string[];
  /** When the next key is to be rotated, ms since the epoch; null for none that is known of. */
  readonly nextRotationAt: number | null;
  /** Live resources by identity key, in the manifests' words, for resolving references. */
  readonly live: ReadonlyMap<string, LiveResource>;
}

/** The plan while it is being made; a blocked item has no change. */
export class Draft {
  readonly changes = new Map<string, DraftChange>();
  readonly blocked = new Map<string, BlockedItem>();
  readonly ignored: IgnoredField[] = [];
  unchanged = 0;
  /** Rotations that wait, in words. */
  readonly hints: string[] = [];
  nextRotationAt: number | null = null;

  /** Returns a draft with the same items, whose changes may be blocked independently. */
  copy(): Draft {
    const copy = new Draft();
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

  /** Leaves all else, also of the keys that are rotated, and what is blocked, as it is. */
  keepRotations(): void {
    this.blocked.clear();
    for (const change of [...this.changes.values()]) {
      if (change.action === 'rotate') this.add({ ...change, fields: [], loosens: false });
      else this.changes.delete(change.id);
    }
  }

  /** Leaves all that the source has to say anew, and what is blocked, as it is. */
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
