/** Writes usage that the bank does not know to disk, and hands over what processes that died have left there. */
import { detach } from '../detached.ts';
import type { CounterRef } from '../store/usage/counter-place.ts';
import type { JournalledUse } from '../store/usage/journalled-use.ts';
import type { Holder } from '../store/usage/usage-holders.ts';
import type { LimitBank } from './limit-bank.ts';

/** A stream of the spool that never drops records. */
export interface JournalStream {
  /** Resolves when the record is durable. */
  append(bytes: Buffer): Promise<void>;
  /** Loads records that were appended, also by processes that died; null when there are none left. */
  load(): Promise<{ readonly place: unknown; readonly records: readonly Buffer[] } | null>;
  release(place: unknown, count: number): void;
}

/** State of some counters of one process; the last one of a counter is valid. */
interface JournalRecord {
  readonly organisationId: string;
  /** As hex. */
  readonly holder: string;
  readonly uses: readonly StoredUse[];
}

type StoredUse = Omit<JournalledUse, 'counter'> & {
  readonly counter: Omit<CounterRef, 'subjectId' | 'id'> & {
    readonly subjectId: string;
    readonly id: string;
  };
};

interface HolderState {
  readonly organisationId: string;
  readonly uses: Map<string, StoredUse>;
}

/** Records after which the stream is written anew, with the last states only. */
const recordsMax = 1_000;
/** Interval of attempts to settle what dead processes left. */
const settleEveryMs = 5_000;

export class UsageJournal {
  readonly #stream: JournalStream;
  readonly #bank: LimitBank;
  readonly #own = new Map<string, HolderState>();
  /** States of processes that died, and are not settled. */
  readonly #left = new Map<string, HolderState>();
  /** Holders of which records may still be on disk. */
  readonly #settled = new Set<string>();
  /** Units that dead processes granted themselves and that are settled, by counter. */
  readonly #drawnBefore = new Map<string, number>();
  /** Whether what dead processes left has been read. */
  isLoaded = false;
  /** Whether the stream may have records of dead processes that were not read. */
  #hasUnread = true;
  #records = 0;
  #compacting: Promise<void> | null = null;
  readonly #timer: NodeJS.Timeout;

  constructor(stream: JournalStream, bank: LimitBank) {
    this.#stream = stream;
    this.#bank = bank;
    this.#timer = setInterval(() => {
      if (this.isLoaded) this.#detachWork();
    }, settleEveryMs).unref();
  }

  /** Resolves when the state is durable. Rejects when the disk does not take it. */
  async write({ organisationId, holder }: Holder, uses: readonly JournalledUse[]): Promise<void> {
    const key = holder.toString('hex');
    const state = this.#own.get(key) ?? { organisationId, uses: new Map<string, StoredUse>() };
    this.#own.set(key, state);
    const stored = uses.map(storedUse);
    for (const use of stored) state.uses.set(keyOf(use), use);
    await this.#append({ organisationId, holder: key, uses: stored });
  }

  /** The bank knows all usage of the holder. */
  forget({ holder }: Holder): void {
    this.#own.delete(holder.toString('hex'));
  }

  /** Nothing of a counter is held, and what was used of it is known to the bank; it stays while it has an allowance. */
  drop({ holder }: Holder, counter: CounterRef): void {
    const uses = this.#own.get(holder.toString('hex'))?.uses;
    const place = placeOf(counter);
    const use = uses?.get(place);
    if (use !== undefined && use.drawn === 0) uses?.delete(place);
  }

  /** Units of a counter that dead processes granted themselves. */
  drawnBefore(counter: CounterRef): number {
    const place = placeOf(counter);
    let units = this.#drawnBefore.get(place) ?? 0;
    for (const { uses } of this.#left.values()) units += uses.get(place)?.drawn ?? 0;
    return units;
  }

  /**
   * Reads what dead processes left, and settles it with the bank. Called when the stream has such records or is opened;
   * repeated from time to time after the first call. Rejects when the bank is away.
   */
  async settleLeft(): Promise<void> {
    this.#hasUnread = true;
    await this.#settle();
  }

  async #settle(): Promise<void> {
    await this.#compact(recordsMax);
    for (const [key, { organisationId, uses }] of this.#left) {
      const holder = { organisationId, holder: Buffer.from(key, 'hex') };
      await this.#bank.settle(holder, [...uses.values()].map(restoredUse));
      this.#left.delete(key);
      this.#settled.add(key);
      for (const [place, { drawn }] of uses) {
        if (drawn > 0) this.#drawnBefore.set(place, drawn + (this.#drawnBefore.get(place) ?? 0));
      }
      this.#records = recordsMax;
    }
    await this.#compact(recordsMax);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#compacting?.catch(() => undefined);
    await this.#compact(0);
  }

  #detachWork(): void {
    // The database may be away for long.
    detach(
      'settling usage of processes that ended',
      this.#settle().catch(() => undefined),
    );
  }

  async #append(record: JournalRecord): Promise<void> {
    this.#records += 1;
    await this.#stream.append(Buffer.from(JSON.stringify(record)));
  }

  /** Replaces all records by the last states, when there are enough of them. */
  async #compact(recordsMin: number): Promise<void> {
    this.#compacting ??= this.#rewrite(recordsMin).finally(() => {
      this.#compacting = null;
    });
    await this.#compacting;
  }

  async #rewrite(recordsMin: number): Promise<void> {
    if (!this.#hasUnread && this.#records > 0 && this.#records < recordsMin) return;
    this.#hasUnread = false;
    this.#records = 0;
    const loaded: { readonly place: unknown; readonly count: number }[] = [];
    for (let one = await this.#stream.load(); one !== null; one = await this.#stream.load()) {
      loaded.push({ place: one.place, count: one.records.length });
      for (const bytes of one.records) this.#adopt(JSON.parse(bytes.toString()) as JournalRecord);
    }
    this.isLoaded = true;
    if (loaded.length === 0) return;
    for (const [holder, { organisationId, uses }] of [...this.#own, ...this.#left]) {
      const open = [...uses.values()].filter(isOpen);
      if (open.length > 0) await this.#append({ organisationId, holder, uses: open });
    }
    for (const { place, count } of loaded) this.#stream.release(place, count);
  }

  #adopt({ organisationId, holder, uses }: JournalRecord): void {
    if (this.#own.has(holder) || this.#settled.has(holder)) return;
    const state = this.#left.get(holder) ?? { organisationId, uses: new Map<string, StoredUse>() };
    this.#left.set(holder, state);
    for (const use of uses) state.uses.set(keyOf(use), use);
  }
}

function isOpen({ before, after, drawn, totalMax = null }: StoredUse): boolean {
  return before > 0 || after > 0 || drawn > 0 || totalMax !== null;
}

function keyOf({ counter }: Pick<StoredUse, 'counter'>): string {
  const { isRate, subjectKind, subjectId, windowStart, id } = counter;
  return [Number(isRate), subjectKind, subjectId, windowStart, id].join(' ');
}

function placeOf({ subjectId, id, ...counter }: CounterRef): string {
  const ids = { subjectId: subjectId.toString('hex'), id: id.toString('hex') };
  return keyOf({ counter: { ...counter, ...ids } });
}

function storedUse({ counter, ...use }: JournalledUse): StoredUse {
  const { subjectId, id } = counter;
  const ids = { subjectId: subjectId.toString('hex'), id: id.toString('hex') };
  return { ...use, counter: { ...counter, ...ids } };
}

function restoredUse({ counter, ...use }: StoredUse): JournalledUse {
  const { subjectId, id } = counter;
  const ids = { subjectId: Buffer.from(subjectId, 'hex'), id: Buffer.from(id, 'hex') };
  return { ...use, counter: { ...counter, ...ids } };
}
