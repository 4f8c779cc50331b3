/** Simulates a gateway whose processes lose answers, die and start again, and whose disk remains. */
import fc from 'fast-check';
import { vi } from 'vitest';
import { CountedSlices, Reservations, Shortage } from '../../../src/ledger/account.ts';
import { DatabaseBank } from '../../../src/ledger/database-bank.ts';
import { UsageJournal } from '../../../src/ledger/journal/usage-journal.ts';
import { type Limit, LimitReached, type Usage } from '../../../src/ledger/limit.ts';
import type { LimitBank } from '../../../src/ledger/limit-bank.ts';
import { OrganisationSlices } from '../../../src/ledger/organisation-slices.ts';
import type { Database } from '../../../src/store/connection/db.ts';
import {
  DatabaseUnavailable,
  isUnavailable,
  OutcomeUnknown,
} from '../../../src/store/connection/unavailable.ts';
import { MemoryDisk } from './memory-stream.ts';

/** How a transaction ends: well, refused, or with a lost answer before or after its commit. */
type Fault = 'none' | 'refused' | 'lostBefore' | 'lostAfter';

export type GatewayStep =
  /** A request reserves units of the first or the second limit. */
  | { readonly kind: 'begin'; readonly units: number; readonly of: 0 | 1 }
  /** A running request ends, and has used this share of what it reserved. */
  | { readonly kind: 'end'; readonly index: number; readonly share: number }
  /** The next transactions end like this. */
  | { readonly kind: 'fail'; readonly faults: readonly Fault[] }
  | { readonly kind: 'exchange'; readonly isDue: boolean }
  | { readonly kind: 'kill' }
  | { readonly kind: 'stop' };

export const gatewaySteps: fc.Arbitrary<GatewayStep> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('begin' as const),
      units: fc.integer({ min: 1, max: 300 }),
      of: fc.constantFrom<0 | 1>(0, 1),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      index: fc.nat({ max: 5 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('fail' as const),
      faults: fc.array(fc.constantFrom<Fault>('none', 'refused', 'lostBefore', 'lostAfter'), {
        maxLength: 4,
      }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('exchange' as const), isDue: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.constant<GatewayStep>({ kind: 'kill' }) },
  { weight: 1, arbitrary: fc.constant<GatewayStep>({ kind: 'stop' }) },
);

export type LimitPair = readonly [Limit, Limit];

interface RunningRequest {
  readonly reservations: Reservations;
  readonly units: number;
  readonly of: 0 | 1;
}

/** Time until the journal has written what requests do not wait for. */
const journalMs = 20;

const lost = () => new OutcomeUnknown(new Error('the answer was lost'));

export class CrashingGateway {
  readonly #database: Database;
  readonly #limits: LimitPair;
  /** Monotonic clock. */
  readonly #time: { nowMs: number };
  readonly #disk = new MemoryDisk();
  #faults: Fault[] = [];
  #slices!: OrganisationSlices;
  #journal!: UsageJournal;
  #life = { isDead: false };
  #running: readonly RunningRequest[] = [];
  /** Units of each limit that requests have used. */
  readonly used: [number, number] = [0, 0];
  /** Units of each limit that requests had reserved when their process ended. */
  readonly abandoned: [number, number] = [0, 0];

  constructor(database: Database, limits: LimitPair, time: { nowMs: number }) {
    this.#database = database;
    this.#limits = limits;
    this.#time = time;
    this.#start();
  }

  async open(): Promise<void> {
    await this.#journal.settleLeft();
  }

  async take(step: GatewayStep): Promise<void> {
    if (step.kind === 'begin') await this.#begin(step.units, step.of);
    else if (step.kind === 'end') this.#end(step.index, step.share);
    else if (step.kind === 'fail') this.#faults = [...step.faults];
    else if (step.kind === 'exchange') await this.#exchange(step.isDue);
    else await this.#restart(step.kind === 'kill');
  }

  /** Ends it for good, after its last process has settled what others left. */
  async end(): Promise<void> {
    this.#faults = [];
    await this.#journal.settleLeft();
    await this.#restart(false);
    await this.#restart(false);
    this.#life.isDead = true;
  }

  #start(): void {
    const life = { isDead: false };
    this.#life = life;
    const bank = this.#bankOf(life);
    this.#journal = new UsageJournal(
      this.#disk.open(() => life.isDead),
      bank,
      () => 0,
    );
    const clock = { now: () => 0, monotonicMs: () => this.#time.nowMs };
    const sources = { bank, journal: this.#journal, clock };
    this.#slices = new OrganisationSlices(sources, this.#limits[0].organisationId);
  }

  /** The database, whose transactions end as the next fault says. */
  #bankOf(life: { readonly isDead: boolean }): LimitBank {
    const transaction: Database['transaction'] = async (work, ...rest) => {
      const fault = this.#faults.shift();
      if (fault === 'refused' || life.isDead) throw new DatabaseUnavailable('refused');
      const result = await this.#database.transaction(
        async (tx) => {
          const done = await work(tx);
          if (fault === 'lostBefore') throw lost();
          return done;
        },
        ...rest,
      );
      if (fault === 'lostAfter') throw lost();
      return result;
    };
    return new DatabaseBank({ database: { db: this.#database.db, transaction }, now: () => 0 });
  }

  /** Begins a request if the slice, one exchange, or the process itself grants what it reserves. */
  async #begin(units: number, of: 0 | 1): Promise<void> {
    const limit = this.#limits[of];
    const reservations = new Reservations(new CountedSlices());
    const charges = [{ limit, slice: this.#slices.slice(limit) }];
    const bound = {
      inputTokens: units,
      likelyInputTokens: units,
      outputTokens: 0,
      outputTokensMin: 0,
      price: null,
    };
    const reserve = () =>
      reserveUnlessReached(reservations, charges, bound, this.#time.nowMs, false);
    let result: unknown = reserve();
    if (result instanceof Shortage) {
      const needs = [...result.needs];
      for (const [slice, need] of needs) slice.needs.add(need);
      const isAnswered = await this.#exchange(false);
      for (const [slice, need] of needs) slice.needs.delete(need);
      const terms = { sharing: this.#slices.sharing, journal: this.#journal };
      result = isAnswered ? reserve() : reservations.draw(charges, bound, this.#time.nowMs, terms);
      if (Array.isArray(result)) await this.#slices.secure(result);
    }
    if (result === null || result instanceof Shortage) return;
    await this.#slices.raise(reservations.beyondPromise() ?? []);
    this.#running = [...this.#running, { reservations, units, of }];
  }

  #end(index: number, share: number): void {
    const one = this.#running[index % Math.max(1, this.#running.length)];
    if (one === undefined) return;
    this.#running = this.#running.filter((other) => other !== one);
    const inputTokens = Math.floor(one.units * share);
    one.reservations.settle(usageOf(inputTokens));
    this.used[one.of] += inputTokens;
  }

  async #exchange(isDue: boolean): Promise<boolean> {
    this.#time.nowMs += 100;
    try {
      await this.#slices.exchange(this.#time.nowMs, isDue);
      return true;
    } catch (error) {
      if (!(error instanceof OutcomeUnknown) && !isUnavailable(error)) throw error;
      return false;
    }
  }

  async #restart(isKill: boolean): Promise<void> {
    await vi.advanceTimersByTimeAsync(journalMs);
    if (!isKill) {
      await this.#slices.close().catch(() => undefined);
      await this.#journal.close();
    }
    this.#life.isDead = true;
    for (const { units, of } of this.#running) this.abandoned[of] += units;
    this.#running = [];
    this.#start();
    await this.#journal.settleLeft().catch(() => undefined);
  }
}

function reserveUnlessReached(
  reservations: Reservations,
  ...terms: Parameters<Reservations['reserve']>
): ReturnType<Reservations['reserve']> | null {
  try {
    return reservations.reserve(...terms);
  } catch (error) {
    if (error instanceof LimitReached) return null;
    throw error;
  }
}

function usageOf(inputTokens: number): Usage {
  return { inputTokens, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, costUnits: 0 };
}
