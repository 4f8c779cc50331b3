/** Knows where a daemon stands: what it has seen and applied, how far others took the server from it, what is wrong. */
import type { Clock } from '../../clock.ts';
import type { Ending, Failure, Place } from '../../failure.ts';
import type { syncStates } from '../../model/kinds/sync-record.ts';
import type { CycleResult } from '../cycle/cycle-options.ts';
import { commitOf } from '../resources/resource-set.ts';
import type { SourceVersion } from '../source/source-files.ts';
import type { Look, WatchEvent } from './loop-event.ts';

export type StateName = (typeof syncStates)[number];

/** What the newest look, cycle or pass came to. */
export interface Standing {
  readonly state: StateName;
  /** Why it is not Synced; null when it is. */
  readonly message: string | null;
  /** Commit of Git, or digest of a folder; null before the first look. */
  readonly seen: string | null;
  /** The newest that was applied whole by this process. */
  readonly applied: string | null;
  readonly isLeading: boolean;
  /** What others changed and nobody has undone. */
  readonly driftCount: number;
  /** All ms since the epoch, null for never. */
  readonly lastSuccessAt: number | null;
  /** Since when source or server could not be reached; null while they can. */
  readonly unreachableSince: number | null;
  /** Whether a first look has come to an end, be it that another daemon leads. */
  readonly hasLooked: boolean;
  /** What the message is about, in the source; null where no place is known. */
  readonly place: Place | null;
  /** Whether what is wrong may pass when it is tried again, which it is. */
  readonly isRetryPending: boolean;
  /** Of the last cycle or pass; null before the first. */
  readonly result: CycleResult | null;
}

const start: Standing = {
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
  /** As the last look told it, and since when it is so. */
  #version: string | null = null;
  #seenAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get standing(): Standing {
    return this.#standing;
  }

  onLook(look: Look): void {
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

  /** Yields the ms from the first look at the version to its being applied; null when it was not, or had been. */
  onEvent(event: WatchEvent): number | null {
    if (event.kind === 'failure') return null;
    const { result, wrong } = event;
    if (event.isBeside) {
      this.#set({ driftCount: event.kind === 'drift' ? driftIn(result) : 0 });
      return null;
    }
    if (wrong !== null) {
      this.#standIn(result, wrong);
      return null;
    }
    if (event.kind === 'drift') {
      this.#tellDrift(result);
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
      ...{ hasLooked: true, result, seen: commit, driftCount: 0 },
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

  #tellDrift(result: CycleResult): void {
    const seen = commitOf(result.plan.source);
    const driftCount = driftIn(result);
    const { faults, blocked } = result.plan;
    const isHeld = faults.length + blocked.length > 0;
    this.#set({
      ...(isHeld ? stateOf(result) : driftState(driftCount)),
      ...{ driftCount, result, seen, hasLooked: true, unreachableSince: null },
      isRetryPending: false,
      ...(isHeld ? {} : { applied: seen, lastSuccessAt: this.#clock.now() }),
    });
  }

  /** An earlier version keeps the server as it is; the newest is as wrong as before. */
  #standIn(result: CycleResult, { message, place }: Failure): void {
    const isReached = result.ending !== 'unreachable';
    this.#set({
      ...{ state: 'Degraded', message, place, result, hasLooked: true, isRetryPending: false },
      driftCount: result.report === null ? driftIn(result) : 0,
      unreachableSince: isReached ? null : (this.#standing.unreachableSince ?? this.#clock.now()),
    });
  }

  #fail({ kind, message, place }: Failure): void {
    const isUnreachable = kind === 'unreachable' || kind === 'retryable';
    const { unreachableSince, hasLooked } = this.#standing;
    this.#set({
      ...{ state: 'Degraded', message, place, isRetryPending: isUnreachable },
      hasLooked: hasLooked || !isUnreachable,
      unreachableSince: isUnreachable ? (unreachableSince ?? this.#clock.now()) : null,
    });
  }

  #set(changes: Partial<Standing>): void {
    this.#standing = { ...this.#standing, ...changes };
  }
}

/** How much of a plan that was only made others have changed. */
function driftIn({ plan }: CycleResult): number {
  return plan.changes.filter(({ action }) => action !== 'retain').length;
}

/** Null where a look has told neither commit nor digest. */
function seenIn({ revision, digest }: SourceVersion): string | null {
  return digest === null ? revision : commitOf({ revision, digest });
}

const messages: Partial<Record<Ending, string>> = {
  partialFailure: 'some changes failed',
  retryable: 'the server changed meanwhile',
  unreachable: 'the server went out of reach',
};

type Verdict = Pick<Standing, 'state' | 'message' | 'place'>;

function driftState(driftCount: number): Verdict {
  if (driftCount === 0) return { state: 'Synced', message: null, place: null };
  const message = `others changed ${driftCount} of what was applied`;
  return { state: 'OutOfSync', message, place: null };
}

function stateOf({ ending, refusal, plan, report }: CycleResult): Verdict {
  const place = null;
  if (ending === 'success') return { state: 'Synced', message: null, place };
  const [fault] = plan.faults;
  const paused = plan.blocked.find(({ reason }) => reason === 'suspended');
  // Of the two only what is wrong needs somebody.
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
