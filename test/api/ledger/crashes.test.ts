/** Verifies that usage is charged once, whatever processes lose: answers, their lease, or their life. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { chargeLostSlices } from '../../../src/jobs/charge-lost-slices.ts';
import { DatabaseBank } from '../../../src/ledger/database-bank.ts';
import { counterRefOf, type Limit } from '../../../src/ledger/limit.ts';
import { idToBytes, newId } from '../../../src/model/wire/ids.ts';
import type { JournalledUse } from '../../../src/store/usage/journalled-use.ts';
import type { Holder } from '../../../src/store/usage/usage-holders.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import {
  CrashingGateway,
  type GatewayStep,
  gatewaySteps,
  type LimitPair,
} from '../../support/ledger/crashing-gateway.ts';
import { insertLimit } from '../../support/rows/usage-rows.ts';
import { jobContext } from '../../support/server/job-context.ts';

const limitUnits = 5_000;
const outageUnits = 700;

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(() => {
  // The journal writes and settles by timers.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A step of the first or the second gateway, of time at all of them, or of the job. */
type Step =
  | { readonly at: 0 | 1; readonly does: GatewayStep }
  | { readonly passesMs: number }
  | 'job';

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ at: fc.constantFrom<0 | 1>(0, 1), does: gatewaySteps }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ passesMs: fc.constantFrom(600, 3_000, 20_000, 40_000) }),
  },
  { weight: 1, arbitrary: fc.constant<Step>('job') },
);

const begin = (units: number, of: 0 | 1 = 0): Step => ({
  at: 0,
  does: { kind: 'begin', units, of },
});
const end = (share: number): Step => ({ at: 0, does: { kind: 'end', index: 0, share } });
const report: Step = { at: 0, does: { kind: 'exchange', isDue: true } };
const kill: Step = { at: 0, does: { kind: 'kill' } };
const stop: Step = { at: 0, does: { kind: 'stop' } };
const minute: Step = { passesMs: 60_000 };
type Faults = (GatewayStep & { kind: 'fail' })['faults'];
const fail = (...faults: Faults): Step => ({ at: 0, does: { kind: 'fail', faults } });

/** Sequences of steps that once charged too much or too little. */
const examples: Readonly<Record<string, readonly Step[]>> = {
  'slices were charged before an exchange is repeated': [
    begin(100),
    end(0.5),
    fail('lostBefore', 'refused'),
    report,
    minute,
    'job',
    report,
    begin(90),
  ],
  'a request that runs at the end has reserved what the process granted itself': [
    begin(10),
    end(1),
    report,
    fail('refused'),
    report,
    begin(300, 1),
    stop,
  ],
  'exchanges of another counter follow usage that was not reported': [
    begin(10),
    begin(10, 1),
    fail('refused'),
    report,
    begin(300),
    end(1),
    fail(),
    begin(200, 1),
    begin(250, 1),
    begin(290, 1),
    kill,
  ],
};

/** Moves the leases in the database into the past, as time does. */
async function pass(organisationId: string, ms: number): Promise<void> {
  const { db } = test.database;
  for (const table of ['usage_holders', 'usage_slices'] as const) {
    await db
      .updateTable(table)
      .set(({ eb, ref }) => ({ lease_until: eb(ref('lease_until'), '-', ms) }))
      .where('organisation_id', '=', organisationId)
      .execute();
  }
  // Long enough for every timer of the journal.
  await vi.advanceTimersByTimeAsync(Math.min(ms, 6_000));
}

const runJob = () => chargeLostSlices().run(jobContext(test.database, 0));

async function counterOf({ subjectId }: Limit) {
  const row = await test.database.db
    .selectFrom('usage_counters')
    .select(['used_units', 'reserved_units', 'assumed_units'])
    .where('subject_id', '=', idToBytes(subjectId))
    .executeTakeFirst();
  const [used, reserved, assumed] = [row?.used_units, row?.reserved_units, row?.assumed_units];
  return {
    used: Number(used ?? 0),
    reserved: Number(reserved ?? 0),
    assumed: Number(assumed ?? 0),
  };
}

async function addLimits(): Promise<LimitPair> {
  const organisationId = newId();
  const add = () => insertLimit(test.database.db, organisationId, { limitUnits, outageUnits });
  return [await add(), await add()];
}

/** Runs two gateways through all steps, ends them, and compares their usage with the counters. */
async function check(steps: readonly Step[]): Promise<void> {
  const limits = await addLimits();
  const time = { nowMs: 100_000 };
  const passBy = async (ms: number): Promise<void> => {
    time.nowMs += ms;
    await pass(limits[0].organisationId, ms);
  };
  const gateways = [0, 1].map(() => new CrashingGateway(test.database, limits, time));
  for (const one of gateways) await one.open();
  for (const one of steps) {
    if (one === 'job') await runJob();
    else if ('passesMs' in one) await passBy(one.passesMs);
    else await gateways[one.at]!.take(one.does);
  }
  for (const one of gateways) await one.end();
  await passBy(1_000_000);
  await runJob();
  for (const at of [0, 1] as const) {
    const { used, reserved, assumed } = await counterOf(limits[at]);
    const sum = (of: 'used' | 'abandoned') => gateways[0]![of][at] + gateways[1]![of][at];
    expect(reserved, 'reserved').toBe(0);
    expect(used, 'charged').toBeGreaterThanOrEqual(sum('used') + sum('abandoned'));
    expect(used - assumed, 'charged without what is assumed').toBeLessThanOrEqual(sum('used'));
    expect(sum('used'), 'used').toBeLessThanOrEqual(limitUnits + 2 * outageUnits);
  }
}

it.each(Object.keys(examples))('charges each use once when %s', async (name) => {
  expect(await check(examples[name]!)).toBe(undefined);
});

it('charges each use once, and assumes no more than what was reserved', async () => {
  expect(
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), check), {
      numRuns: 60,
    }),
  ).toBe(undefined);
});

it('settles the journal of a process once when it is settled twice at the same time', async () => {
  const [limit] = await addLimits();
  const { organisationId, alertThresholdUnits, type, label } = limit;
  const holder: Holder = { organisationId, holder: randomBytes(16), isJournalled: true };
  const counter = counterRefOf(limit);
  const terms = { counter, limitUnits, alertThresholdUnits, type, label };
  const use: JournalledUse = {
    ...terms,
    sequence: 0,
    before: 0,
    after: 30,
    running: 10,
    drawn: 30,
  };
  const banks = Array.from(
    { length: 4 },
    () => new DatabaseBank({ database: test.database, now: () => 0 }),
  );
  await Promise.all(banks.map((bank) => bank.settle(holder, [use])));
  expect(await counterOf(limit)).toEqual({ used: 30, reserved: 0, assumed: 10 });
});
