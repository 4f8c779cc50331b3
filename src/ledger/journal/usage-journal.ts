/** Writes usage that the bank does not know to disk, and hands over what processes that died have left there. */
import { detach } from '../../detached.ts';
import type { CounterRef } from '../../store/usage/counter-place.ts';
import type { JournalledUse } from '../../store/usage/journalled-use.ts';
import type { Holder } from '../../store/usage/usage-holders.ts';
import { EarlierGrants } from './earlier-grants.ts';
import { type JournalRecord, LeftUsage } from './left-usage.ts';
import {
  drawnOf,
  type HolderState,
  keyOf,
  placeOfCounter,
  restoredUse,
  type StoredUse,
  storedUse,
} from './stored-use.ts';

/** A stream of the spool that never drops records. */
export interface JournalStream {
  /** Resolves when the record is durable. */
  append(bytes: Buffer): Promise<void>;
  /** Loads records that were appended, also by processes that died; null when there are none left. */
  load(): Promise<{ readonly place: unknown; readonly records: readonly Buffer[] } | null>;
  release(place: unknown, count: number): void;
}

/** Charges usage that an earlier process had on disk, once; rejects when that is not possible now. */
interface SettlingBank {
  settle(holder: Holder, uses: readonly JournalledUse[]): Promise<void>;
}

/** Records after which the stream is written anew, with the last states only. */
const recordsMax = 1_000;
/** Interval of attempts to settle what dead processes left. */
const settleEveryMs = 5_000;

export class UsageJournal {
  readonly #stream: JournalStream;
  readonly #bank: SettlingBank;
  readonly #own = new Map<string, HolderState>();
  readonly #left: LeftUsage;
  #revision = 0;
  readonly #earlier: EarlierGrants;
  /** Whether what dead processes left has been read. */
  isLoaded = false;
  /** Whether the stream may have records of dead processes that were not read. */
  #hasUnread = true;
  #records = 0;
  #compacting: Promise<void> | null = null;
  #settling: Promise<void> | null = null;
  readonly #timer: NodeJS.Timeout;

  /** `now` in milliseconds since the epoch. */
  constructor(stream: JournalStream, bank: SettlingBank, now: () => number) {
    this.#stream = stream;
    this.#bank = bank;
    this.#earlier = new EarlierGrants(now);
    this.#left = new LeftUsage(this.#earlier);
    this.#timer = setInterval(() => {
      if (this.isLoaded) detachSettling(this.#settle());
    }, settleEveryMs).unref();
  }

  /** Resolves when the state is durable. Rejects when the disk does not take it. */
  async write({ organisationId, holder }: Holder, uses: readonly JournalledUse[]): Promise<void> {
    const key = holder.toString('hex');
    const state = this.#own.get(key) ?? { organisationId, uses: new Map<string, StoredUse>() };
    this.#own.set(key, state);
    this.#revision += 1;
    const stored = uses.map((use) => storedUse(use, this.#revision));
    for (const use of stored) state.uses.set(keyOf(use), use);
    await this.#append({ organisationId, holder: key, uses: stored });
  }

  /** The bank knows all usage of the holder, or another holder reports it. */
  forget({ holder }: Holder): void {
    const key = holder.toString('hex');
    this.#own.delete(key);
    this.#left.end(key);
  }

  /** Nothing of a counter is held, and what was used of it is known to the bank; it stays while it has an allowance. */
  drop({ holder }: Holder, counter: CounterRef): void {
    const uses = this.#own.get(holder.toString('hex'))?.uses;
    const place = placeOfCounter(counter);
    const use = uses?.get(place);
    if (use !== undefined && use.drawn === 0) uses?.delete(place);
  }

  /** The holder has ended in order: as {@link forget}, but keeps what it granted itself. */
  end(holder: Holder, uses: readonly JournalledUse[]): void {
    this.forget(holder);
    const { organisationId } = holder;
    const stored = uses.map((use) => storedUse(use, this.#revision));
    const state = { organisationId, uses: byPlace(stored) };
    this.#earlier.keep(holder.holder.toString('hex'), state);
  }

  /** Units of a counter that earlier processes granted themselves. */
  drawnBefore(counter: CounterRef): number {
    if (this.#left.states.size === 0 && this.#earlier.isEmpty) return 0;
    const place = placeOfCounter(counter);
    return this.#earlier.units(place) + drawnOf(this.#left.states.values(), place);
  }

  /** Grants of earlier processes count only as far as the counter is beyond its limit. */
  noteBeyond(counter: CounterRef, beyondUnits: number): void {
    if (!this.#earlier.isEmpty) this.#earlier.noteBeyond(placeOfCounter(counter), beyondUnits);
  }

  /**
   * Reads what dead processes left, and settles it with the bank. Called when the stream has such records or is opened;
   * repeated from time to time after the first call. Rejects when the bank is away.
   */
  async settleLeft(): Promise<void> {
    this.#hasUnread = true;
    // A run that had begun before may have read the stream already.
    while (this.#hasUnread || this.#left.states.size > 0) await this.#settle();
  }

  /** Runs once at a time; a call while it runs waits for its end. */
  async #settle(): Promise<void> {
    this.#settling ??= this.#settleAll().finally(() => {
      this.#settling = null;
    });
    await this.#settling;
  }

  async #settleAll(): Promise<void> {
    await this.#compact(recordsMax);
    for (const [key, { organisationId, uses }] of this.#left.states) {
      const holder = { organisationId, holder: Buffer.from(key, 'hex') };
      await this.#bank.settle(holder, [...uses.values()].map(restoredUse));
      this.#left.end(key);
      this.#earlier.keep(key, { organisationId, uses });
      this.#records = recordsMax;
    }
    await this.#compact(recordsMax);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#compacting?.catch(() => undefined);
    // A disk that takes nothing keeps the records as they are.
    await this.#compact(0).catch(() => undefined);
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
    const known = new Set(this.#earlier.holders);
    for (let one = await this.#stream.load(); one !== null; one = await this.#stream.load()) {
      loaded.push({ place: one.place, count: one.records.length });
      for (const bytes of one.records) {
        const record = JSON.parse(bytes.toString()) as JournalRecord;
        const { holder } = record;
        if (!known.has(holder) && !this.#own.has(holder)) this.#left.adopt(record);
      }
    }
    this.isLoaded = true;
    if (loaded.length === 0) return;
    const records = [...settledRecords(this.#earlier.list())];
    records.push(...openRecords([...this.#own, ...this.#left.states]));
    for (const record of records) await this.#append(record);
    for (const { place, count } of loaded) this.#stream.release(place, count);
  }
}

/** The database may be away for long. */
function detachSettling(settling: Promise<void>): void {
  detach(
    'settling usage of processes that ended',
    settling.catch(() => undefined),
  );
}

function* settledRecords(
  states: Iterable<readonly [string, HolderState]>,
): Generator<JournalRecord> {
  for (const [holder, { organisationId, uses }] of states) {
    yield { organisationId, holder, uses: [...uses.values()], isSettled: true };
  }
}

function* openRecords(states: Iterable<readonly [string, HolderState]>): Generator<JournalRecord> {
  for (const [holder, { organisationId, uses }] of states) {
    const open = [...uses.values()].filter(isOpen);
    if (open.length > 0) yield { organisationId, holder, uses: open };
  }
}

function byPlace(uses: readonly StoredUse[]): Map<string, StoredUse> {
  return new Map(uses.map((use) => [keyOf(use), use]));
}

function isOpen({ before, after, drawn, totalMax = null }: StoredUse): boolean {
  return before > 0 || after > 0 || drawn > 0 || totalMax !== null;
}
