/** Defines what one sync cycle is given and what it returns. */
import type { Clock } from '../../clock.ts';
import type { Ending } from '../../failure.ts';
import type { ApplyReport, OnItem } from '../apply/apply.ts';
import type { KeyDelivery } from '../apply/key-survey.ts';
import type { HeldLease, LeaseOptions } from '../apply/owner-lease.ts';
import type { Refusal } from '../plan/guards.ts';
import type { Plan } from '../plan/plan-model.ts';
import type { IsReleased, UnattendedTerms } from '../plan/removal-holds.ts';
import type { DesiredSet } from '../resources/resource-set.ts';
import type { WorkspaceScope } from '../resources/workspace-scope.ts';
import type { AdminClient } from '../server/client.ts';
import type { SnapshotRead } from '../server/live.ts';
import type { OpenSinks } from '../sinks/sink-set.ts';
import type { HistoryTerms } from './history-guard.ts';
import type { SourceCopies } from './source-copies.ts';

export interface CycleOptions extends HistoryTerms {
  readonly client: AdminClient;
  /**
   * Reads the source in its current state.
   *
   * @throws Failure (invalid input, unreachable) that lists every fault of the source
   */
  readonly readDesired: () => Promise<DesiredSet>;
  /** Leaves what `readDesired` has read on the server; nothing when absent. */
  readonly copies?: SourceCopies | undefined;
  /** False stops after the plan. */
  readonly act: boolean;
  /** False keeps resources that left the source without a tombstone. */
  readonly prune: boolean;
  /** Number of such deletes that the user released; null when none was given. */
  readonly allowDeletes: number | null;
  /** Rotates the keys that are due and does nothing else. */
  readonly rotationsOnly?: boolean | undefined;
  /** See `ComparisonOptions.restoresOnly`. */
  readonly restoresOnly?: boolean | undefined;
  /** Set when nobody watches the run; removals then wait. */
  readonly unattended?: UnattendedTerms | null | undefined;
  /** Set when a person runs it: tells which guarded removals they named. Absent guards nothing. */
  readonly isReleased?: IsReleased | undefined;
  /** The workspaces to compare; null and absent mean all. */
  readonly scope?: WorkspaceScope | undefined;
  readonly takeOwnership: boolean;
  /** Makes all changes in one transaction, or none. */
  readonly isAtomic?: boolean | undefined;
  /**
   * Reads only what belongs to this owner first, and the whole snapshot only when that shows work.
   */
  readonly looksAtOwnFirst?: boolean | undefined;
  /** Writes also where the server reports a suspension. */
  readonly evenIfSuspended?: boolean | undefined;
  /** Decides which keys are due for rotation; the system clock when absent. */
  readonly clock?: Clock | undefined;
  /** Folder for the files that `secretOutput` writes. */
  readonly secretsFolder: string;
  /** Opens the further sinks that `secretOutput` may name; none when absent. */
  readonly openSinks?: OpenSinks | undefined;
  /** When aborted, the request in flight is finished and nothing more is started. */
  readonly signal?: AbortSignal | undefined;
  /** Names this run to runs that wait for it: `apply on host-1 (process 12)`. */
  readonly holder: string;
  /** Acquires the write lease; a lease for this run alone when absent. */
  readonly takeLease?: ((terms: LeaseOptions) => Promise<HeldLease>) | undefined;
  /** Called once when another run of the same owner holds the lease. */
  readonly onWait?: ((message: string) => void) | undefined;
  /** The snapshot of the last cycle; it is not transferred again while its etag holds. */
  readonly previous?: SnapshotRead | null | undefined;
  /** Asks for confirmation before the first write, when there is something to write. */
  readonly confirm?: ((plan: Plan) => Promise<boolean>) | undefined;
  /** Throws for a plan that must not be carried out; called for every plan, before any write. */
  readonly assertExpected?: ((plan: Plan, read: SnapshotRead) => void) | undefined;
  readonly onItem?: OnItem | undefined;
}

export interface CycleResult {
  readonly plan: Plan;
  /** Set when a guard refused the plan; nothing was written. */
  readonly refusal: Refusal | null;
  /** True when `confirm` returned false; nothing was written. */
  readonly declined: boolean;
  /** Null when nothing was attempted. */
  readonly report: ApplyReport | null;
  readonly warnings: readonly string[];
  /** Delivery state of every existing key that has a `secretOutput`. */
  readonly deliveries: readonly KeyDelivery[];
  readonly ending: Ending;
  /** State of the server before the cycle. */
  readonly read: SnapshotRead;
}
