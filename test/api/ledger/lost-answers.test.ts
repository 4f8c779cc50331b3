/** Verifies that usage is counted exactly however often answers are lost and connections refused. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bankRoutes } from '../../../src/control-link/bank-routes.ts';
import { LinkedBank } from '../../../src/control-link/linked-bank.ts';
import { CountedSlices, Reservations, Shortage } from '../../../src/ledger/account.ts';
import { DatabaseBank } from '../../../src/ledger/database-bank.ts';
import type { Limit } from '../../../src/ledger/limit.ts';
import type { LimitBank } from '../../../src/ledger/limit-bank.ts';
import { OrganisationSlices } from '../../../src/ledger/organisation-slices.ts';
import { idToBytes, newId } from '../../../src/model/wire/ids.ts';
import {
  DatabaseUnavailable,
  isUnavailable,
  OutcomeUnknown,
} from '../../../src/store/connection/unavailable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertLimit } from '../../support/rows/usage-rows.ts';

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test[Symbol.asyncDispose]());

/** How a transaction fails: refused, lost before the commit was carried out, or after it. */
type Fault = 'refused' | 'lostBefore' | 'lostAfter';
const fault = fc.constantFrom<Fault>('refused', 'lostBefore', 'lostAfter');

const step = fc.record({
  /** Tokens that a request reserves, and the part that it uses. */
  reserved: fc.integer({ min: 1, max: 200 }),
  usedShare: fc.double({ min: 0, max: 1, noNaN: true }),
  /** Failures of the next transactions, in order. */
  faults: fc.array(fault, { maxLength: 4 }),
});

/** Fails as the next fault says, and carries the work out unless it is lost before. */
class Faults {
  next: Fault[] = [];

  async run<T>(carryOut: (isLost: boolean) => Promise<T>): Promise<T> {
    const fault = this.next.shift();
    if (fault === 'refused') throw new DatabaseUnavailable('refused');
    const result = await carryOut(fault === 'lostBefore');
    if (fault === 'lostAfter') throw lost();
    return result;
  }
}

const lost = () => new OutcomeUnknown(new Error('the answer was lost'));

/** The database, whose transactions fail. */
function failingDatabaseBank(faults: Faults): LimitBank {
  const transaction: typeof test.database.transaction = (run, ...rest) =>
    faults.run((isLost) =>
      test.database.transaction(
        async (tx) => {
          const done = await run(tx);
          if (isLost) throw lost();
          return done;
        },
        ...rest,
      ),
    );
  return new DatabaseBank({ database: { db: test.database.db, transaction }, now: () => 0 });
}

/** The control plane, whose requests fail on their way. */
function failingLinkedBank(faults: Faults): LimitBank {
  const routes = bankRoutes(new DatabaseBank({ database: test.database, now: () => 0 }));
  const post = (path: string, message: unknown) =>
    faults.run(async (isLost) => {
      if (isLost) throw lost();
      const route = routes.find((one) => one.path === path)!;
      const body = route.body!.parse(JSON.parse(JSON.stringify(message)));
      const answer = await route.handle({ body } as Parameters<typeof route.handle>[0]);
      return JSON.parse(JSON.stringify(answer));
    });
  return new LinkedBank({ post });
}

/** One process whose time passes with each request. */
class Process {
  #nowMs = 0;
  readonly faults = new Faults();
  used = 0;
  readonly #slices: OrganisationSlices;
  readonly #limit: Limit;

  constructor(limit: Limit, bankOf: (faults: Faults) => LimitBank) {
    this.#limit = limit;
    const bank = bankOf(this.faults);
    const clock = { now: () => 0, monotonicMs: () => this.#nowMs };
    this.#slices = new OrganisationSlices({ bank, journal: null, clock }, limit.organisationId);
  }

  /** Sends a request, which is refused unless units arrive while the faults last and once after. */
  async ask(reserved: number, used: number): Promise<void> {
    const reservations = new Reservations(new CountedSlices());
    const slice = this.#slices.slice(this.#limit);
    const charges = [{ limit: this.#limit, slice }];
    const bound = { likelyInputTokens: reserved, outputTokens: 0, outputTokensMin: 0, price: null };
    const reserve = () =>
      reservations.reserve(charges, { ...bound, inputTokens: reserved }, this.#nowMs, false);
    let result = reserve();
    for (const tries = this.faults.next.length; result instanceof Shortage; ) {
      const isLast = this.faults.next.length === 0;
      const needs = [...result.needs];
      for (const [lacking, need] of needs) lacking.needs.add(need);
      await this.exchange();
      for (const [lacking, need] of needs) lacking.needs.delete(need);
      result = reserve();
      if (isLast || tries === 0) break;
    }
    if (result instanceof Shortage) return;
    reservations.settle({
      inputTokens: used,
      outputTokens: 0,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      costUnits: 0,
    });
    this.used += used;
  }

  async exchange(): Promise<void> {
    this.#nowMs += 100;
    await this.#slices.exchange(this.#nowMs, true).catch(requireLost);
  }

  async stop(): Promise<void> {
    this.faults.next = [];
    await this.#slices.close();
  }
}

function requireLost(error: unknown): void {
  if (!(error instanceof OutcomeUnknown) && !isUnavailable(error)) throw error;
}

it.each([
  { place: 'the database', bankOf: failingDatabaseBank },
  { place: 'the control plane', bankOf: failingLinkedBank },
])(
  'counts each use once and reserves nothing afterwards, whatever answers of $place are lost',
  async ({ bankOf }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const limit = await insertLimit(test.database.db, newId(), { limitUnits: 1_000_000 });
        const process = new Process(limit, bankOf);
        for (const { reserved, usedShare, faults } of steps) {
          process.faults.next = [...faults];
          await process.ask(reserved, Math.floor(reserved * usedShare));
          await process.exchange();
        }
        await process.stop();
        const row = await test.database.db
          .selectFrom('usage_counters')
          .select(['used_units', 'reserved_units', 'assumed_units'])
          .where('subject_id', '=', idToBytes(limit.subjectId))
          .executeTakeFirst();
        expect(row === undefined ? 0 : Number(row.reserved_units)).toBe(0);
        expect(row === undefined ? 0 : Number(row.used_units)).toBe(process.used);
        expect(row === undefined ? 0 : Number(row.assumed_units)).toBe(0);
      }),
      { numRuns: 150 },
    );
  },
);
