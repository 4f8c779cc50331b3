/** Verifies that a process that was killed is charged with what it used, by its journal, once, whenever it was killed. */
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chargeLostSlices } from '../../../src/jobs/charge-lost-slices.ts';
import { CountedSlices, Reservations, Shortage } from '../../../src/ledger/account.ts';
import { DatabaseBank } from '../../../src/ledger/database-bank.ts';
import { type JournalStream, UsageJournal } from '../../../src/ledger/journal/usage-journal.ts';
import type { Limit } from '../../../src/ledger/limit.ts';
import { OrganisationSlices } from '../../../src/ledger/organisation-slices.ts';
import { idToBytes, newId } from '../../../src/model/wire/ids.ts';
import { DatabaseUnavailable } from '../../../src/store/connection/unavailable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { MemoryDisk } from '../../support/ledger/memory-stream.ts';
import { insertLimit } from '../../support/rows/usage-rows.ts';
import { jobContext } from '../../support/server/job-context.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test[Symbol.asyncDispose]());

const usageOf = (inputTokens: number) => ({
  inputTokens,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  costUnits: 0,
});

/** One process whose time passes with each exchange, and that dies at a step of its work: a write or a transaction. */
class Process {
  /** Steps that it still takes, each of which has a time before and one after it. */
  stepsLeft = Number.POSITIVE_INFINITY;
  isDead = false;
  isDiskFull = false;
  /** Tokens of requests that were answered, and those reserved by requests that were sent and not answered. */
  used = 0;
  running = 0;
  #nowMs = 0;
  readonly journal: UsageJournal;
  readonly #slices: OrganisationSlices;
  readonly #limit: Limit;

  constructor(limit: Limit, disk: MemoryDisk) {
    this.#limit = limit;
    const stream = disk.open(() => this.isDead);
    const dying: JournalStream = {
      load: () => stream.load(),
      release: (place, count) => stream.release(place, count),
      append: (bytes) => {
        if (this.isDiskFull) return Promise.reject(new Error('the disk is full'));
        return this.#step(() => stream.append(bytes));
      },
    };
    const transaction: typeof test.database.transaction = (run, ...rest) =>
      this.#step(() => test.database.transaction(run, ...rest));
    const bank = new DatabaseBank({
      database: { db: test.database.db, transaction },
      now: () => 0,
    });
    this.journal = new UsageJournal(dying, bank, () => 0);
    const clock = { now: () => 0, monotonicMs: () => this.#nowMs };
    const { organisationId } = limit;
    this.#slices = new OrganisationSlices({ bank, journal: this.journal, clock }, organisationId);
  }

  async #step<T>(work: () => Promise<T>): Promise<T> {
    this.#end();
    const done = await work();
    this.#end();
    return done;
  }

  #end(): void {
    if (this.stepsLeft <= 0) this.isDead = true;
    this.stepsLeft -= 1;
    if (this.isDead) throw new DatabaseUnavailable('killed');
  }

  /** Sends a request; it is answered when `used` is not null. */
  async ask(reserved: number, used: number | null): Promise<void> {
    if (this.isDead) return;
    const reservations = new Reservations(new CountedSlices());
    const charges = [{ limit: this.#limit, slice: this.#slices.slice(this.#limit) }];
    const bound = { likelyInputTokens: reserved, outputTokens: 0, outputTokensMin: 0, price: null };
    const reserve = () =>
      reservations.reserve(charges, { ...bound, inputTokens: reserved }, this.#nowMs, false);
    let result = reserve();
    if (result instanceof Shortage) {
      const needs = [...result.needs];
      for (const [lacking, need] of needs) lacking.needs.add(need);
      await this.exchange();
      for (const [lacking, need] of needs) lacking.needs.delete(need);
      result = reserve();
    }
    if (result instanceof Shortage || this.isDead) return;
    const beyond = reservations.beyondPromise();
    try {
      if (beyond !== null) await this.#slices.raise(beyond);
    } catch {
      reservations.release();
      return;
    }
    if (this.isDead) return;
    if (used === null) this.running += reserved;
    else {
      this.used += used;
      reservations.settle(usageOf(used));
    }
  }

  async exchange(passedMs = 600): Promise<void> {
    if (this.isDead) return;
    this.#nowMs += passedMs;
    await this.#slices.exchange(this.#nowMs, true).catch(requireKill);
    // The writes of bounds that no request waits for.
    await new Promise(setImmediate);
  }

  /** Ends in order. */
  close(): Promise<void> {
    return this.#slices.close();
  }

  kill(): void {
    this.isDead = true;
  }
}

function requireKill(error: unknown): void {
  if (!(error instanceof DatabaseUnavailable)) throw error;
}

async function counterOf(limit: Limit) {
  const row = await test.database.db
    .selectFrom('usage_counters')
    .select(['used_units', 'reserved_units', 'assumed_units'])
    .where('subject_id', '=', idToBytes(limit.subjectId))
    .executeTakeFirst();
  return {
    used: Number(row?.used_units ?? 0),
    reserved: Number(row?.reserved_units ?? 0),
    assumed: Number(row?.assumed_units ?? 0),
  };
}

/** Ends all leases, and charges what is lost. */
async function endLeases(limit: Limit): Promise<void> {
  const { organisationId } = limit;
  for (const table of ['usage_holders', 'usage_slices']) {
    await sql`UPDATE ${sql.table(table)} SET lease_until = ${Date.now() - 1_000}
      WHERE organisation_id = ${organisationId} AND lease_until IS NOT NULL`.execute(
      test.database.db,
    );
  }
  await chargeLostSlices().run(jobContext(test.database, 0));
}

/** Settles what dead processes left, as the next process does. */
async function restart(limit: Limit, disk: MemoryDisk, stepsLeft = Number.POSITIVE_INFINITY) {
  const next = new Process(limit, disk);
  next.stepsLeft = stepsLeft;
  await next.journal.settleLeft().catch(requireKill);
  const isDone = !next.isDead;
  next.kill();
  return isDone;
}

/** A process with many idle units, after one request of 10 tokens. */
async function idleProcess(limit: Limit, disk: MemoryDisk): Promise<Process> {
  const process = new Process(limit, disk);
  for (let round = 0; round < 40; round += 1) {
    await process.ask(100, 100);
    await process.exchange();
  }
  // No use is expected soon.
  await process.exchange(3_000);
  return process;
}

const newLimit = (fields: Partial<Limit> = {}): Promise<Limit> =>
  insertLimit(test.database.db, newId(), { limitUnits: 1_000_000, ...fields });

describe('a process that was killed with idle units', () => {
  it.each(['before', 'after'])('is corrected %s its lease has ended', async (time) => {
    const limit = await newLimit();
    const disk = new MemoryDisk();
    const process = await idleProcess(limit, disk);
    await process.ask(50, null);
    process.kill();
    const { reserved } = await counterOf(limit);
    expect(reserved).toBeGreaterThan(1_000);
    if (time === 'after') {
      await endLeases(limit);
      expect(await counterOf(limit)).toMatchObject({ used: process.used + reserved, reserved: 0 });
    }
    await restart(limit, disk);
    const corrected = await counterOf(limit);
    // The running request is charged in full, with room for one more request.
    expect(corrected.used).toBeGreaterThanOrEqual(process.used + 50);
    expect(corrected.used).toBeLessThanOrEqual(process.used + 50 + 200);
    expect(corrected.reserved).toBe(0);
    expect(corrected.assumed).toBe(corrected.used - process.used);
    await restart(limit, disk);
    await endLeases(limit);
    expect(await counterOf(limit)).toEqual(corrected);
  });

  it('is corrected in the window of its usage, which has ended meanwhile', async () => {
    const limit = await newLimit();
    const disk = new MemoryDisk();
    const process = await idleProcess(limit, disk);
    process.kill();
    await endLeases(limit);
    const next = { ...limit, windowStart: limit.windowStart + 86_400_000 };
    const later = new Process(next, disk);
    await later.ask(10, 10);
    await later.journal.settleLeft();
    const rows = await test.database.db
      .selectFrom('usage_counters')
      .select(['window_start', 'used_units'])
      .where('subject_id', '=', idToBytes(limit.subjectId))
      .orderBy('window_start')
      .execute();
    expect(Number(rows[0]!.used_units)).toBeLessThanOrEqual(process.used + 200);
    expect(Number(rows[0]!.used_units)).toBeGreaterThanOrEqual(process.used);
    expect(rows).toHaveLength(2);
    later.kill();
  });

  it('gets nothing back from a counter that was reset after the charge', async () => {
    const limit = await newLimit();
    const disk = new MemoryDisk();
    const process = await idleProcess(limit, disk);
    process.kill();
    await endLeases(limit);
    await sql`UPDATE usage_counters SET used_units = 0, assumed_units = 0,
      last_reset_at = ${Date.now() + 60_000}
      WHERE subject_id = ${idToBytes(limit.subjectId)}`.execute(test.database.db);
    await restart(limit, disk);
    expect(await counterOf(limit)).toMatchObject({ used: 0, assumed: 0 });
  });

  it('goes on while its disk is full, and is then charged with all that it held', async () => {
    const limit = await newLimit();
    const disk = new MemoryDisk();
    const process = await idleProcess(limit, disk);
    process.isDiskFull = true;
    const before = process.used;
    for (let round = 0; round < 10; round += 1) {
      await process.ask(100, 100);
      await process.exchange(100);
    }
    // One request was refused, because the disk had a bound and took no higher one.
    expect(process.used).toBeGreaterThanOrEqual(before + 900);
    process.kill();
    const { used, reserved } = await counterOf(limit);
    await restart(limit, disk);
    await endLeases(limit);
    expect(await counterOf(limit)).toMatchObject({ used: used + reserved, reserved: 0 });
  });
});

const action = fc.oneof(
  fc.record({
    reserved: fc.integer({ min: 1, max: 200 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  fc.record({ reserved: fc.integer({ min: 1, max: 200 }), share: fc.constant(null) }),
  fc.record({ passedMs: fc.integer({ min: 1, max: 9_000 }) }),
);

describe('a process that outlives its lease', () => {
  it.each([
    ['the database', 600],
    ['its own clock', 60_000],
  ])('is charged with what it used, once %s says that the lease has ended', async (_, passedMs) => {
    const limit = await newLimit();
    const process = await idleProcess(limit, new MemoryDisk());
    await process.ask(70, 70);
    await process.ask(50, null);
    const { used, reserved } = await counterOf(limit);
    await endLeases(limit);
    expect(await counterOf(limit)).toMatchObject({ used: used + reserved, assumed: reserved });
    await process.exchange(passedMs);
    await process.exchange();
    const corrected = await counterOf(limit);
    expect(corrected).toMatchObject({ used: process.used + 50, assumed: 50 });
    expect(process.running).toBe(50);
    await process.ask(100, 100);
    await process.exchange();
    expect(await counterOf(limit)).toMatchObject({ used: process.used + 50, assumed: 50 });
    process.kill();
  });

  it('is charged with all that it used beyond what it held', async () => {
    const limit = await newLimit();
    const process = await idleProcess(limit, new MemoryDisk());
    const { reserved } = await counterOf(limit);
    await process.ask(10, reserved + 500);
    await endLeases(limit);
    await process.exchange();
    await process.exchange();
    expect(await counterOf(limit)).toMatchObject({ used: process.used, assumed: 0 });
    process.kill();
  });

  it('gets nothing back from a counter that was reset after the charge', async () => {
    const limit = await newLimit();
    const process = await idleProcess(limit, new MemoryDisk());
    await endLeases(limit);
    await sql`UPDATE usage_counters SET used_units = 0, assumed_units = 0,
      last_reset_at = ${Date.now() + 60_000}
      WHERE subject_id = ${idToBytes(limit.subjectId)}`.execute(test.database.db);
    await process.exchange();
    await process.exchange();
    expect(await counterOf(limit)).toMatchObject({ used: 0, assumed: 0 });
    process.kill();
  });

  it('is charged with what it used whenever that happens, and whenever it is killed afterwards', async () => {
    const outliving = fc.oneof(
      { weight: 4, arbitrary: action },
      fc.constant('lease ends' as const),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(outliving, { minLength: 3, maxLength: 25 }),
        fc.option(fc.integer({ min: 0, max: 60 })),
        async (actions, stepsLeft) => {
          const limit = await newLimit();
          const disk = new MemoryDisk();
          const process = new Process(limit, disk);
          process.stepsLeft = stepsLeft ?? Number.POSITIVE_INFINITY;
          for (const one of actions) {
            if (one === 'lease ends') await endLeases(limit);
            else if ('passedMs' in one) await process.exchange(one.passedMs);
            else
              await process.ask(
                one.reserved,
                one.share === null ? null : Math.floor(one.reserved * one.share),
              );
          }
          await process.exchange();
          await process.close().catch(requireKill);
          const isKilled = process.isDead;
          process.kill();
          const { used, reserved } = await counterOf(limit);
          await restart(limit, disk);
          await endLeases(limit);
          const after = await counterOf(limit);
          const least = process.used + process.running;
          expect(after.reserved).toBe(0);
          expect(after.used).toBeGreaterThanOrEqual(least);
          expect(after.used).toBeLessThanOrEqual(isKilled ? used + reserved : least);
          expect(after.used - after.assumed).toBeLessThanOrEqual(process.used);
        },
      ),
      { numRuns: 150 },
    );
  });
});

it('is charged no less than it used and no more than it held, once, whenever it and its successors are killed', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { minLength: 1, maxLength: 25 }),
      fc.integer({ min: 0, max: 80 }),
      fc.boolean(),
      fc.integer({ min: 0, max: 6 }),
      async (actions, stepsLeft, endsBefore, successorSteps) => {
        const limit = await newLimit();
        const disk = new MemoryDisk();
        const process = new Process(limit, disk);
        process.stepsLeft = stepsLeft;
        for (const one of actions) {
          if ('passedMs' in one) await process.exchange(one.passedMs);
          else {
            const used = one.share === null ? null : Math.floor(one.reserved * one.share);
            await process.ask(one.reserved, used);
          }
        }
        process.kill();
        const { used, reserved } = await counterOf(limit);
        if (endsBefore) await endLeases(limit);
        for (let steps = successorSteps; !(await restart(limit, disk, steps)); steps += 2);
        await restart(limit, disk);
        await endLeases(limit);
        const after = await counterOf(limit);
        expect(after.reserved).toBe(0);
        expect(after.used).toBeGreaterThanOrEqual(process.used + process.running);
        expect(after.used).toBeLessThanOrEqual(used + reserved);
      },
    ),
    { numRuns: 150 },
  );
});
