/** Aggregates events that are too frequent for one audit log row each and writes one row a minute. */
import { detach } from '../detached.ts';
import { newId } from '../model/wire/ids.ts';
import { formatTimestamp } from '../model/wire/timestamp.ts';
import type { CountedRow } from '../store/records/gateway-records.ts';

/** Owner of an event; null for none. */
export interface EventOwner {
  readonly organisationId: string | null;
  /** Set instead of `organisationId` when looking that up would make the response measurably slower. */
  readonly tsgId: string | null;
}

export interface MinuteCountsOptions {
  /** Field names in a row: of the counts, and of the list of distinct events. */
  readonly fields: { readonly count: string; readonly each: string };
  /** Distinct events listed for each organisation; the rest is one total. */
  readonly eachMax: number;
  /** Organisation of a tenant; undefined when there is none. @throws when it cannot be determined now */
  readonly findOrganisation: (tsgId: string) => Promise<string | undefined>;
  /** @throws when the row cannot be written now or the outcome is unknown */
  readonly write: (row: CountedRow) => Promise<void>;
  /** Called when rows have to wait for the next minute. */
  readonly onFailure: (error: unknown) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Beyond this number, events are counted without an organisation. */
const organisationsMax = 1_000;
const everyMs = 60_000;

interface EventCount {
  readonly details: Readonly<Record<string, unknown>>;
  count: number;
}

interface Counts {
  readonly organisationId: string;
  /** Tenant whose organisation is still to be looked up; null when it is known. */
  readonly tsgId: string | null;
  since: number;
  count: number;
  readonly each: Map<string, EventCount>;
}

/** {@link add} only updates a map; {@link close} writes the remaining counts. */
export class MinuteCounts {
  readonly #options: MinuteCountsOptions;
  /** By organisation or tenant. */
  readonly #counts = new Map<string, Counts>();
  /** Rows being written; no others are created before these are written. */
  #rows: CountedRow[] = [];
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: MinuteCountsOptions) {
    this.#options = options;
  }

  /** Events of the same `name` are counted together; `describe` returns their details. */
  add(
    { organisationId, tsgId }: EventOwner,
    name: string,
    describe: () => Readonly<Record<string, unknown>>,
  ): void {
    const counts = this.#countsOf(organisationId ?? '', organisationId === null ? tsgId : null);
    counts.count += 1;
    const existing = counts.each.get(name);
    if (existing !== undefined) existing.count += 1;
    else if (counts.each.size < this.#options.eachMax) {
      counts.each.set(name, { details: describe(), count: 1 });
    }
    this.#setTimer();
  }

  /** Writes the counts. After a failure counting goes on and the next minute retries. */
  flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  /** Counts that cannot be written within this time are lost. */
  async close(withinMs: number): Promise<void> {
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMs);
    // The second flush writes what was counted while an earlier one was running.
    await Promise.race([this.flush().then(() => this.flush()), isLate]);
    clearTimeout(timer);
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #write(): Promise<void> {
    try {
      if (this.#rows.length === 0) {
        await this.#findOrganisations();
        this.#rows = this.#take();
      }
      for (let row = this.#rows[0]; row !== undefined; row = this.#rows[0]) {
        await this.#options.write(row);
        this.#rows.shift();
      }
    } catch (error) {
      this.#options.onFailure(error);
      this.#setTimer();
    }
  }

  async #findOrganisations(): Promise<void> {
    for (const [name, { tsgId }] of [...this.#counts]) {
      if (tsgId === null) continue;
      const organisationId = (await this.#options.findOrganisation(tsgId)) ?? '';
      const counts = this.#counts.get(name)!;
      this.#counts.delete(name);
      const own = this.#countsOf(organisationId, null);
      own.since = Math.min(own.since, counts.since);
      own.count += counts.count;
      for (const [of, one] of counts.each) {
        const existing = own.each.get(of);
        if (existing !== undefined) existing.count += one.count;
        else if (own.each.size < this.#options.eachMax) own.each.set(of, one);
      }
    }
  }

  /** Removes and returns the counts whose organisation is known. */
  #take(): CountedRow[] {
    const at = this.#options.now();
    const { fields } = this.#options;
    const taken = [...this.#counts].filter(([, { tsgId }]) => tsgId === null);
    for (const [name] of taken) this.#counts.delete(name);
    return taken.map(([, { organisationId, since, count, each }]) => {
      const events = [...each.values()];
      const elsewhere = events.reduce((left, event) => left - event.count, count);
      const changes = {
        since: formatTimestamp(since),
        until: formatTimestamp(at),
        [fields.count]: count,
        [fields.each]: events.map((event) => ({ ...event.details, [fields.count]: event.count })),
        elsewhere,
      };
      return { id: newId(), organisationId, at, changes };
    });
  }

  #countsOf(organisationId: string, tsgId: string | null): Counts {
    const name = tsgId ?? organisationId;
    const existing = this.#counts.get(name);
    if (existing !== undefined) return existing;
    const isTooMany = this.#counts.size >= organisationsMax && name !== '';
    if (isTooMany) return this.#countsOf('', null);
    const since = this.#options.now();
    const counts: Counts = { organisationId, tsgId, since, count: 0, each: new Map() };
    this.#counts.set(name, counts);
    return counts;
  }

  #setTimer(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      const flushed = this.flush().finally(() => {
        if (this.#counts.size > 0) this.#setTimer();
      });
      detach('writing the counts of a minute', flushed);
    }, everyMs).unref();
  }
}
