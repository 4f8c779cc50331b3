/** Joins the polls of a process for changes: one statement reads generations, the head of the snapshot and the time. */
import { monotonicMs } from '../../monotonic.ts';
import { noMarks } from '../rows/snapshot-marks.ts';
import type { ChangesReading, ChangesRequest } from './changes.ts';
import { ObservedChanges } from './observed-changes.ts';
import type { HeadReading } from './snapshot-heads.ts';

export interface ChangePollOptions {
  readonly read: (request: ChangesRequest) => Promise<ChangesReading>;
  /** Reads the head alone, in a process that polls no generations. */
  readonly readHead: (known: Buffer | null) => Promise<HeadReading>;
  /** A change is known here; `elapsedMs` since it was made, by the clock of the database. */
  readonly onChange: (elapsedMs: number) => void;
  /** Shared time. */
  readonly now: () => number;
}

/**
 * Longest time from the stamp of a change until it is visible: the wait for a lock, and the commit. A change that takes
 * longer is found when its organisation is checked.
 */
const overlapMs = 10_000;
/** Organisations that each poll checks, in turn. All changes are found where a process has no more. */
const checkedMax = 128;
/** A process polls if its last poll is not older. */
const pollingMs = 3_000;

interface WaitingHead extends PromiseWithResolvers<HeadReading> {
  readonly known: Buffer | null;
}

export class ChangePoll {
  readonly #options: ChangePollOptions;
  readonly #observed = new ObservedChanges();
  /** Time of the database at the last poll; null before. */
  #readAtMs: number | null = null;
  /** Position in the organisations, from which the next poll checks some. */
  #nextChecked = 0;
  /** Start of the last poll, monotonic clock. */
  #beganAtMs = Number.NEGATIVE_INFINITY;
  #waiting: WaitingHead | null = null;
  #hasLostRuns = true;
  #isClosed = false;

  constructor(options: ChangePollOptions) {
    this.#options = options;
  }

  /** Whether {@link readHead} waits for the next poll. */
  get isPolling(): boolean {
    return !this.#isClosed && monotonicMs() - this.#beganAtMs < pollingMs;
  }

  /** Current generations of organisations that have changed or were checked; `held` are those of the process. */
  readonly listGenerations = async (
    held: ReadonlyMap<string, string>,
  ): Promise<ReadonlyMap<string, string>> => {
    this.#beganAtMs = monotonicMs();
    const waiting = this.#waiting;
    this.#waiting = null;
    try {
      const checked = this.#checked([...held.keys()]);
      const reading = await this.#options.read({
        ...checked,
        overlapMs,
        head: waiting,
        now: this.#options.now(),
      });
      waiting?.resolve(reading.head!);
      const found = this.#take(held, reading);
      for (const id of checked.organisationIds) if (!found.has(id)) found.set(id, noMarks);
      return found;
    } catch (error) {
      waiting?.reject(error);
      throw error;
    }
  };

  /** Waits for the next poll where the process polls; `known` is the etag of the held head. */
  readonly readHead = (known: Buffer | null): Promise<HeadReading> => {
    if (!this.isPolling) return this.#options.readHead(known);
    this.#waiting ??= { ...Promise.withResolvers<HeadReading>(), known };
    return this.#waiting.promise;
  };

  /** Whether a run may have no driver; false when the last poll found none. */
  readonly mayHaveLostRuns = (): boolean => !this.isPolling || this.#hasLostRuns;

  /** Answers what waits. To be called when the process stops. */
  close(): void {
    this.#isClosed = true;
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.resolve(this.#options.readHead(waiting.known));
  }

  /** All organisations, or some of many in turn and those that have changed. */
  #checked(all: readonly string[]): Pick<ChangesRequest, 'organisationIds' | 'sinceMs'> {
    if (all.length <= checkedMax || this.#readAtMs === null) {
      return { organisationIds: all, sinceMs: null };
    }
    const start = this.#nextChecked % all.length;
    this.#nextChecked = start + checkedMax;
    const organisationIds = [...all.slice(start), ...all.slice(0, start)].slice(0, checkedMax);
    return { organisationIds, sinceMs: this.#readAtMs };
  }

  #take(
    held: ReadonlyMap<string, string>,
    { now, organisations, hasLostRuns }: ChangesReading,
  ): Map<string, string> {
    this.#readAtMs = now;
    this.#hasLostRuns = hasLostRuns;
    const found = new Map<string, string>();
    for (const [id, reading] of organisations) {
      const before = held.get(id);
      if (before === undefined) continue;
      found.set(id, reading.generation);
      for (const changedAtMs of this.#observed.take(id, reading, before)) {
        // The time of the database was read after the poll began: the sum is never too short.
        const sinceReadMs = monotonicMs() - this.#beganAtMs;
        this.#options.onChange(Math.max(0, now - changedAtMs) + sinceReadMs);
      }
    }
    this.#observed.forgetBefore(now - 3 * overlapMs);
    return found;
  }
}
