/** Tracks the state of a sync loop: what it has seen and applied, drift, and what is wrong. */
import type { Clock } from '../../clock.ts';
import type { Ending, Failure, SourcePosition } from '../../failure.ts';
import type { syncStates } from '../../model/kinds/sync-record.ts';
import type { CycleResult } from '../cycle/cycle-options.ts';
import { commitOf } from '../resources/resource-set.ts';
import type { SourceVersion } from '../source/source-files.ts';
import type { LookOutcome, LoopEvent } from './loop-event.ts';

export type StateName = (typeof syncStates)[number];

/** The outcome of the newest look, cycle or pass. */
export interface LoopStatus {
  readonly state: StateName;
  /** Why the state is not Synced; null if it is. */
  readonly message: string | null;
  /** Git commit or folder digest; null before the first look. */
  readonly seen: string | null;
  /** The newest version that this process applied completely. */
  readonly applied: string | null;
  readonly isLeading: boolean;
  /** Number of changes by others that nobody has undone. */
  readonly driftCount: number;
  /** Time in ms since the epoch; null for never. */
  readonly lastSuccessAt: number | null;
  /**
   * Since when source or server have been unreachable, ms since the epoch; null while reachable.
   */
  readonly unreachableSince: number | null;
  /** Whether a first look has ended, including with another daemon as the leader. */
  readonly hasLooked: boolean;
  /** Position in the source that the message is about; null when unknown. */
  readonly place: SourcePosition | null;
  /** Whether a retry that may resolve the problem is pending. */
  readonly isRetryPending: boolean;
  /** Result of the last cycle or pass; null before the first. */
  readonly result: CycleResult | null;
}

const start: LoopStatus = {
  state: 'Progressing',
  message: null,
  seen: null,
  applied: null,
  isLeading: false,
  driftCount: 0,
  lastSuccessAt: null,
  unreachableSince: null,
  hasLooked: false,
  place: null,
  isRetryPending: false,
  result: null,
};

/** Follows the events of one loop. */
export class SyncState {
  readonly #clock: Clock;
  #standing = start;
  /** The version of the last look, and since when it has been seen. */
  #version: string | null = null;
  #seenAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get status(): LoopStatus {
    return this.#standing;
  }

  onLook(look: LookOutcome): void {
    if (look.kind === 'standby') {
      const message = 'another daemon leads';
      this.#set({
        isLeading: false,
        hasLooked: true,
        unreachableSince: null,
        message,
        place: null,
      });
    } else if (look.kind === 'seen') {
      this.#see(seenIn(look.version));
      this.#set({ isLeading: true, ...(look.isRetryPending ? {} : { unreachableSince: null }) });
    } else {
      this.#fail(look.failure);
    }
  }

  /**
   * Returns the ms from the first look at the version to its being applied; null if it was not
   * applied now.
   */
  onEvent(event: LoopEvent): number | null {
    if (event.kind === 'failure') return null;
    const { result, sourceFailure } = event;
    if (event.isVersionHeld) {
      this.#set({ driftCount: event.kind === 'drift' ? driftIn(result) : 0 });
      return null;
    }
    if (sourceFailure !== null) {
      this.#applySubstitute(result, sourceFailure);
      return null;
    }
    if (event.kind === 'drift') {
      this.#applyDrift(result);
      return null;
    }
    const now = this.#clock.now();
    const isDone = result.ending === 'success';
    const isReached = result.ending !== 'unreachable';
    const commit = commitOf(result.plan.source);
    const isNew = isDone && commit !== this.#standing.applied;
    const stand = stateOf(result);
    this.#set({
      ...stand,
      hasLooked: true,
      result,
      seen: commit,
      driftCount: 0,
      isRetryPending: event.retryAt !== null && stand.state === 'Degraded',
      ...(isDone ? { applied: commit, lastSuccessAt: now } : {}),
      unreachableSince: isReached ? null : (this.#standing.unreachableSince ?? now),
    });
    return isNew ? now - this.#seenAt : null;
  }

  #see(version: string | null): void {
    if (version === this.#version) return;
    this.#version = version;
    this.#seenAt = this.#clock.now();
    if (version !== this.#standing.applied) {
      this.#set({ seen: version, state: 'Progressing', message: null, place: null });
    }
  }

  #applyDrift(result: CycleResult): void {
    const seen = commitOf(result.plan.source);
    const driftCount = driftIn(result);
    const { faults, blocked } = result.plan;
    const isHeld = faults.length + blocked.length > 0;
    this.#set({
      ...(isHeld ? stateOf(result) : driftState(driftCount)),
      driftCount,
      result,
      seen,
      hasLooked: true,
      unreachableSince: null,
      isRetryPending: false,
      ...(isHeld ? {} : { applied: seen, lastSuccessAt: this.#clock.now() }),
    });
  }

  /** Handles a cycle with an earlier version while the newest one is invalid. */
  #applySubstitute(result: CycleResult, { message, place }: Failure): void {
    const isReached = result.ending !== 'unreachable';
    this.#set({
      state: 'Degraded',
      message,
      place,
      result,
      hasLooked: true,
      isRetryPending: false,
      driftCount: result.report === null ? driftIn(result) : 0,
      unreachableSince: isReached ? null : (this.#standing.unreachableSince ?? this.#clock.now()),
    });
  }

  #fail({ kind, message, place }: Failure): void {
    const isUnreachable = kind === 'unreachable' || kind === 'retryable';
    const { unreachableSince, hasLooked } = this.#standing;
    this.#set({
      state: 'Degraded',
      message,
      place,
      isRetryPending: isUnreachable,
      hasLooked: hasLooked || !isUnreachable,
      unreachableSince: isUnreachable ? (unreachableSince ?? this.#clock.now()) : null,
    });
  }

  #set(changes: Partial<LoopStatus>): void {
    this.#standing = { ...this.#standing, ...changes };
  }
}

/** Returns how many resources others changed, from a plan that was not carried out. */
function driftIn({ plan }: CycleResult): number {
  return plan.changes.filter(({ action }) => action !== 'retain').length;
}

/** Returns null when the look reported neither commit nor digest. */
function seenIn({ revision, digest }: SourceVersion): string | null {
  return digest === null ? revision : commitOf({ revision, digest });
}

const messages: Partial<Record<Ending, string>> = {
  partialFailure: 'some changes failed',
  retryable: 'the server changed meanwhile',
  unreachable: 'the server went out of reach',
};

type StateSummary = Pick<LoopStatus, 'state' | 'message' | 'place'>;

function driftState(driftCount: number): StateSummary {
  if (driftCount === 0) return { state: 'Synced', message: null, place: null };
  const message = `others changed ${driftCount} of the applied resources`;
  return { state: 'OutOfSync', message, place: null };
}

function stateOf({ ending, refusal, plan, report }: CycleResult): StateSummary {
  const place = null;
  if (ending === 'success') return { state: 'Synced', message: null, place };
  const [fault] = plan.faults;
  const paused = plan.blocked.find(({ reason }) => reason === 'suspended');
  // A fault needs a person and outranks a suspension.
  if (paused !== undefined && fault === undefined) {
    return { state: 'Suspended', message: paused.message, place };
  }
  if (refusal !== null) return { state: 'OutOfSync', message: refusal.message, place };
  const [blocked] = plan.blocked;
  if (ending === 'refusedByGuard' && blocked !== undefined) {
    const message = `${blocked.id} is blocked: ${blocked.message}`;
    return { state: 'OutOfSync', message, place: blocked.position };
  }
  if (fault !== undefined) {
    const { message, position } = fault.fault;
    return { state: 'Degraded', message, place: position };
  }
  const failed = report?.items.find(({ status }) => status === 'failed');
  const detail = failed === undefined ? '' : `: ${failed.id}: ${failed.message}`;
  const message = `${messages[ending] ?? ending}${detail}`;
  return { state: 'Degraded', message, place: failed?.position ?? null };
}
