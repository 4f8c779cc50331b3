/** Verifies that regions never exceed a limit together, whatever is lost between gateways, regions and home. */
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chargeLostSlices } from '../../../src/jobs/charge-lost-slices.ts';
import { regionJobs } from '../../../src/jobs/regions/region-jobs.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { type Limit, LimitReached, LimitsUnknown } from '../../../src/ledger/limit.ts';
import { idToBytes, newId } from '../../../src/model/wire/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { type LinkFault, Region, RegionGateway } from '../../support/regions/region-network.ts';
import { insertLimit, recallSlices } from '../../support/rows/usage-rows.ts';
import { eventually } from '../../support/server/eventually.ts';
import { jobContext } from '../../support/server/job-context.ts';

let home: TestDatabase;
let databases: TestDatabase[];

beforeAll(async () => {
  home = await createTestDatabase();
  // The rows that counters belong to are at home.
  databases = [
    await createTestDatabase({ breaksRules: true }),
    await createTestDatabase({ breaksRules: true }),
  ];
});
afterAll(async () => {
  for (const one of [home, ...databases]) await one[Symbol.asyncDispose]();
});

interface CounterUnits {
  readonly used: number;
  readonly reserved: number;
}

async function countedAt(test: TestDatabase, { subjectId }: Limit): Promise<CounterUnits> {
  const row = await test.database.db
    .selectFrom('usage_counters')
    .select(['used_units', 'reserved_units'])
    .where('subject_id', '=', idToBytes(subjectId))
    .executeTakeFirst();
  return { used: Number(row?.used_units ?? 0), reserved: Number(row?.reserved_units ?? 0) };
}

/** Ends the leases of everything that is held at home, as when nobody was heard of for hours. */
async function endLeasesAtHome(): Promise<void> {
  const { database } = home;
  await sql`UPDATE usage_holders SET lease_until = 1`.execute(database.db);
  await sql`UPDATE usage_slices SET lease_until = 1`.execute(database.db);
  await chargeLostSlices().run(jobContext(database, 0));
}

/** Has the regions and their gateways return everything that is idle. */
async function returnAll(limit: Limit, regions: readonly Region[]): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) {
    await recallSlices(home.database.db);
    for (const region of regions) await region.turn(limit.organisationId);
    // The gateways have ended, so that only the region itself answers.
    for (const { database } of databases)
      await sql`UPDATE region_loans SET due_at = 0 WHERE due_at IS NOT NULL`.execute(database.db);
  }
}

const bound = {
  inputTokens: 10,
  likelyInputTokens: 10,
  outputTokens: 0,
  outputTokensMin: 0,
  price: null,
};

const fault = fc.constantFrom<LinkFault>('refused', 'lostBefore', 'lostAfter');
const faults = fc.array(fault, { maxLength: 3 });

const step = fc.record({
  region: fc.nat({ max: 1 }),
  /** Which replica of the region serves, and whether both are replaced before. */
  replica: fc.nat({ max: 1 }),
  isReplaced: fc.boolean(),
  reserved: fc.integer({ min: 1, max: 200 }),
  usedShare: fc.double({ min: 0, max: 1, noNaN: true }),
  /** Failures of the next requests of the gateway to its region, and of the region to home. */
  toRegion: faults,
  toHome: faults,
});

function parts(limit: Limit) {
  const regions = databases.map((one) => new Region(one, home));
  const gateways = regions.map((region) => new RegionGateway(limit, region));
  return { regions, gateways, usedUnits: () => gateways.reduce((sum, { used }) => sum + used, 0) };
}

describe('a pair of regions with databases of their own', () => {
  it('counts each use once and reserves nothing afterwards, whatever answers are lost on either way', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const limit = await insertLimit(home.database.db, newId(), { limitUnits: 1_000_000 });
        const { regions, gateways, usedUnits } = parts(limit);
        for (const { region: at, replica, isReplaced, reserved, usedShare, ...more } of steps) {
          const [region, gateway] = [regions[at]!, gateways[at]!];
          if (isReplaced) region.replace();
          gateway.replica = replica;
          gateway.link.next = [...more.toRegion];
          region.link.next = [...more.toHome];
          await gateway.ask(reserved, Math.floor(reserved * usedShare));
          await gateway.exchange();
          await region.turn(limit.organisationId, replica);
        }
        for (const region of regions) region.link.mend();
        for (const gateway of gateways) await gateway.stop();
        await returnAll(limit, regions);
        expect(await countedAt(home, limit)).toEqual({ used: usedUnits(), reserved: 0 });
      }),
      { numRuns: 30 },
    );
  });

  const cutStep = fc.record({
    region: fc.nat({ max: 1 }),
    units: fc.integer({ min: 1, max: 40 }),
    event: fc.constantFrom('none', 'cut', 'mend', 'leasesEnd', 'recall', 'replace'),
    toHome: faults,
  });

  it('never exceeds a limit while regions are cut off, and can use the last unit afterwards', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(cutStep, { minLength: 4, maxLength: 14 }), async (steps) => {
        const limit = await insertLimit(home.database.db, newId(), { limitUnits: 300 });
        const { regions, gateways, usedUnits } = parts(limit);
        for (const { region: at, units, event, toHome } of steps) {
          const [region, gateway] = [regions[at]!, gateways[at]!];
          if (event === 'replace') region.replace();
          if (event === 'cut') region.link.isCut = true;
          if (event === 'mend') region.link.mend();
          if (event === 'leasesEnd') await endLeasesAtHome();
          if (event === 'recall') await recallSlices(home.database.db);
          region.link.next = [...toHome];
          await gateway.ask(units, units);
          await gateway.exchange();
          await region.turn(limit.organisationId);
          expect(usedUnits()).toBeLessThanOrEqual(limit.limitUnits);
          const { used, reserved } = await countedAt(home, limit);
          expect(used + reserved).toBeLessThanOrEqual(limit.limitUnits);
        }
        for (const region of regions) region.link.mend();
        for (const gateway of gateways) await gateway.stop();
        await returnAll(limit, regions);
        const last = new RegionGateway(limit, regions[0]!);
        const { used } = await countedAt(home, limit);
        expect(used).toBeGreaterThanOrEqual(usedUnits());
        for (let left = limit.limitUnits - used; left > 0; left -= 1)
          expect(await last.ask(1, 1, 6)).toBe(true);
        expect(await last.ask(1, 1).catch(() => false)).toBe(false);
      }),
      { numRuns: 8 },
    );
  });
});

describe('a gateway whose region cannot ask home', () => {
  async function openCutOff(fields: Partial<Limit>) {
    const limit = await insertLimit(home.database.db, newId(), fields);
    const region = new Region(databases[0]!, home);
    region.link.isCut = true;
    const { bank } = region.replica(0);
    const clock = { now: () => Date.now() };
    return { limit, region, ledger: createLedger({ database: home.database, bank, clock }) };
  }

  it('refuses a budget of which the region holds nothing, and serves it when home is back', async () => {
    const { limit, region, ledger } = await openCutOff({ limitUnits: 100 });
    await expect(ledger.open().admit([limit], bound)).rejects.toThrow(LimitsUnknown);
    region.link.mend();
    await eventually(async () => {
      const account = ledger.open();
      expect(await account.admit([limit], bound)).toMatchObject({ outputTokens: 0 });
      account.release();
    });
    await ledger[Symbol.asyncDispose]();
  });

  it('admits its share of a rate limit', async () => {
    const { limit, ledger } = await openCutOff({
      type: 'requests',
      limitUnits: 3,
      isRate: true,
      valueKey: 'requests rpw',
      endsAt: Date.now() + 3_600_000,
    });
    for (let count = 0; count < 3; count += 1) await ledger.open().admit([limit], bound);
    expect(() => ledger.open().admit([limit], bound)).toThrow(LimitReached);
    await ledger[Symbol.asyncDispose]();
  });
});

it('deletes counters of rate limits an hour after their window, once home has counted them', async () => {
  const endsAt = 1_000;
  const limit = await insertLimit(home.database.db, newId(), {
    type: 'requests',
    limitUnits: 10,
    isRate: true,
    valueKey: 'requests rpm',
    endsAt,
  });
  const [test] = databases;
  const region = new Region(test!, home);
  const gateway = new RegionGateway(limit, region);
  expect(await gateway.ask(1, 1)).toBe(true);
  await gateway.stop();
  const remove = regionJobs({
    logDays: null,
    totalsDays: null,
    responseDays: 30,
    threadDays: 60,
  }).find(({ name }) => name === 'delete-settled-loans')!;
  const removeAt = (now: number) => remove.run(jobContext(test!.database, now));
  const later = endsAt + 3_600_001;
  expect(await removeAt(later)).toEqual({ counters: 0 });
  await returnAll(limit, [region]);
  expect(await removeAt(later - 2)).toEqual({ counters: 0 });
  expect(await removeAt(later)).toEqual({ counters: 1 });
});
