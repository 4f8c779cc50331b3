/** Describes the source of the units that a process grants: the database, or a service that speaks for it. */
import type { JournalledUse } from '../store/usage/journalled-use.ts';
import type { LostUse } from '../store/usage/slice-charges.ts';
import type { MoveOutcome, SliceMove } from '../store/usage/slice-moves.ts';
import type { Holder } from '../store/usage/usage-holders.ts';
import type { WantedSlice } from '../store/usage/wanted-slices.ts';

export interface BankRequest {
  readonly holder: Holder;
  /** Number of the holder's last exchange that was carried out; 0 before the first one. */
  readonly sequence: number;
  readonly moves: readonly SliceMove[];
  /** Whether the answer lists the slices that the holder still has. */
  readonly listsHeld: boolean;
  /** Whether the answer counts the holders of the organisation. */
  readonly countsHolders: boolean;
  /** Whether the answer is stored, so that any replica of the bank answers the same request again. */
  readonly keepsAnswer: boolean;
  /**
   * Whether moves of slices that were charged, because their lease had ended, are always left out; for a holder that does
   * not look at `held`. Without it, this happens when the lease of the holder had ended before the request arrived.
   */
  readonly leavesOutLost?: boolean | undefined;
  /** Usage of slices that were charged, as an earlier answer said, by which the charge is corrected; absent for none. */
  readonly lostUses?: readonly LostUse[] | undefined;
}

export interface BankAnswer {
  /** In the order of the moves. */
  readonly outcomes: readonly MoveOutcome[];
  /** Counters by `counterKeyText`, before the moves; null unless requested, or the lease of the holder had ended. */
  readonly held: readonly string[] | null;
  /** Holders with a lease, including this one; null unless requested. */
  readonly holders: number | null;
  /** How many of these holders come before this one in an order that all of them share; unknown when absent. */
  readonly rank?: number | null;
  /** Counters by `counterKeyText` whose moves were left out; absent for none. */
  readonly lost?: readonly string[] | undefined;
}

/**
 * Grants units of limits. Every exchange has the next number of its holder and is carried out once: after a failure with
 * an unknown outcome (`isOutcomeUnknown`) the caller repeats the same request until it is answered, however the
 * repetitions fail. It may change a request whose first attempt failed otherwise.
 */
export interface LimitBank {
  /** Renews the holder's lease and carries out the moves; null when the holder has lost everything it held. */
  exchange(request: BankRequest): Promise<BankAnswer | null>;
  /** Lists the slices of these holders that other processes lack; each holder is of another organisation. */
  listWanted(holders: readonly Holder[]): Promise<readonly WantedSlice[]>;
  /** Charges usage that an earlier process had on disk, once. May be repeated. */
  settle(holder: Holder, uses: readonly JournalledUse[]): Promise<void>;
  /** Charges what the holder still holds, and removes it. May be repeated. */
  close(holder: Holder): Promise<void>;
}
