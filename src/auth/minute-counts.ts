/** Knows what happens too often for a row of the audit log each: counted in a bounded memory, and written down once a minute. */
import { newId } from '../model/ids.ts';
import { formatTimestamp } from '../model/timestamp.ts';

/** One row of the audit log; written again where the answer was lost, it is the same. */
export interface CountedRow {
  readonly id: string;
  /** '' for what belongs to no organisation. */
  readonly organisationId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly changes: Record<string, unknown>;
}

/** Whose it is; null for nobody's. */
export interface CountedOf {
  readonly organisationId: string | null;
  /** In place of that, where finding it would make an answer take longer than others. */
  readonly tsgId: string | null;
}

export interface MinuteCountsOptions {
  /** Of figures in a row: how many in all and of each, and of those that are told apart. */
  readonly words: { readonly count: string; readonly each: string };
  /** What is told apart of each organisation; the rest is one figure. */
  readonly eachMax: number;
  /** The organisation of a tenant; undefined where there is none. @throws where that cannot be known now */
  readonly findOrganisation: (tsgId: string) => Promise<string | undefined>;
  /** @throws where it cannot be written now, or nobody knows whether it was */
  readonly write: (row: CountedRow) => Promise<void>;
  /** Rows that have to wait for the next minute. */
  readonly onFailure: (error: unknown) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Beyond these, what is counted is nobody's. */
const organisationsMax = 1_000;
const everyMs = 60_000;

interface Each {
  readonly told: Readonly<Record<string, unknown>>;
  count: number;
}

interface Counts {
  readonly organisationId: string;
  /** Still to be looked for; null where it is known. */
  readonly tsgId: string | null;
  since: number;
  count: number;
  readonly each: Map<string, Each>;
}

/** {@link add} takes what happened and costs no more than a look; {@link close} writes what is left. */
export class MinuteCounts {
  readonly #options: MinuteCountsOptions;
  /** By organisation or tenant. */
  readonly #counts = new Map<string, Counts>();
  /** Taken to be written; nothing else is taken before they are. */
  #rows: CountedRow[] = [];
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: MinuteCountsOptions) {
    this.#options = options;
  }

  /** What has the same `name` is counted as one, and told by `tell`. */
  add(
    { organisationId, tsgId }: CountedOf,
    name: string,
    tell: () => Readonly<Record<string, unknown>>,
  ): void {
    const counts = this.#countsOf(organisationId ?? '', organisationId === null ? tsgId : null);
    counts.count += 1;
    const known = counts.each.get(name);
    if (known !== undefined) known.count += 1;
    else if (counts.each.size < this.#options.eachMax) {
      counts.each.set(name, { told: tell(), count: 1 });
    }
    this.#setTimer();
  }

  /** Writes what was counted. Where that fails it goes on counting, and the next minute tries again. */
  flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  /** What cannot be written within this time is lost. */
  async close(withinMs: number): Promise<void> {
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMs);
    // What came while an earlier writing was under way is taken by the second.
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
        const known = own.each.get(of);
        if (known !== undefined) known.count += one.count;
        else if (own.each.size < this.#options.eachMax) own.each.set(of, one);
      }
    }
  }

  /** Those of tenants that were looked for. */
  #take(): CountedRow[] {
    const at = this.#options.now();
    const { words } = this.#options;
    const taken = [...this.#counts].filter(([, { tsgId }]) => tsgId === null);
    for (const [name] of taken) this.#counts.delete(name);
    return taken.map(([, { organisationId, since, count, each }]) => {
      const told = [...each.values()];
      const elsewhere = told.reduce((left, one) => left - one.count, count);
      const changes = {
        ...{ since: formatTimestamp(since), until: formatTimestamp(at), [words.count]: count },
        [words.each]: told.map((one) => ({ ...one.told, [words.count]: one.count })),
        elsewhere,
      };
      return { id: newId(), organisationId, at, changes };
    });
  }

  #countsOf(organisationId: string, tsgId: string | null): Counts {
    const name = tsgId ?? organisationId;
    const known = this.#counts.get(name);
    if (known !== undefined) return known;
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
      void this.flush().then(() => {
        if (this.#counts.size > 0) this.#setTimer();
      });
    }, everyMs).unref();
  }
}
