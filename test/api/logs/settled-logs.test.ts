/**
 * Verifies that log and totals contain the settled amount of a charge once: in any order, after
 * crashes, and when rows are already deleted.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RequestLog, type RequestLogOptions } from '../../../src/gateway/logs/request-log.ts';
import { settleOpenCharges } from '../../../src/jobs/settle-open-charges.ts';
import { usageAtPrice } from '../../../src/ledger/limit.ts';
import { openCharge, settleCharge } from '../../../src/ledger/open-charge.ts';
import { startOfTotalsStep } from '../../../src/model/logs/request-log.ts';
import { lookUpPrice } from '../../../src/model/pricing/price-table.ts';
import type { Price } from '../../../src/model/pricing/pricing.ts';
import { newIdBytes } from '../../../src/model/wire/ids.ts';
import { DatabaseUnavailable } from '../../../src/store/connection/unavailable.ts';
import type { OpenCharge, OpenChargeKey } from '../../../src/store/logs/open-charges.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { requestRecord } from '../../support/rows/request-records.ts';
import { jobContext } from '../../support/server/job-context.ts';

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test[Symbol.asyncDispose]());

const price = lookUpPrice('mock-upstream', null, 0) as Price;
const tokens = (inputTokens: number, outputTokens: number) => ({
  inputTokens,
  outputTokens,
  cachedInputTokens: inputTokens / 4,
  cacheWriteTokens: 0,
});
const granted = usageAtPrice(price, tokens(4_000, 1_000));
const used = tokens(400, 30);
/** At prices of the mock upstream, in micro-dollars. */
const costOfUsed = 400 + 2 * 30;
const now = Date.parse('2026-11-22T08:15:00Z');
const dayMs = 86_400_000;

type Transaction = RequestLogOptions['database']['transaction'];
const usual: Transaction = (work) => test.database.transaction(work);

/** A process that dies before its transaction commits. */
const dyingBefore: Transaction = (work) =>
  test.database.transaction(async (tx) => {
    await work(tx);
    throw new Error('killed before the commit');
  }, 1);

/** A process that dies before it learns that its transaction committed. */
const dyingBehind: Transaction = async (work) => {
  await test.database.transaction(work);
  throw new Error('killed behind the commit');
};

async function opened(organisationId: string, name: string): Promise<OpenChargeKey> {
  const row = {
    organisation_id: organisationId,
    workspace_id: '',
    kind: 'responses',
    object_id: name,
    run_id: '',
    provider: '@any',
    id: newIdBytes(),
    created_at: now,
    look_at: now,
  };
  await openCharge(
    test.database.db,
    { ...row, address: null },
    { price, limits: [], usage: granted },
  );
  return row;
}

/** Writes log rows like a process that dies afterwards. */
async function log(
  organisationId: string,
  charges: readonly (OpenChargeKey | null)[],
  transaction: Transaction = usual,
): Promise<void> {
  const bounds = { flushEveryMs: 1, retryMs: 1 };
  const written = new RequestLog({ database: { transaction }, onLoss: () => {}, bounds });
  const use = { tokens: granted, costUnits: granted.costUnits, isEstimated: true };
  for (const charge of charges) {
    written.record(requestRecord(organisationId, { ...use, openCharge: charge }));
  }
  await written.close(60_000);
}

const open = (organisationId: string): Promise<OpenCharge[]> =>
  test.database.db
    .selectFrom('open_charges')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .execute();

async function settle(organisationId: string, transaction: Transaction = usual): Promise<void> {
  for (const row of await open(organisationId)) await settleCharge(transaction, row, used, now);
}

async function rows(organisationId: string) {
  return test.database.db
    .selectFrom('request_logs')
    .select(['input_tokens', 'output_tokens', 'cached_input_tokens', 'cost_units', 'is_estimated'])
    .where('organisation_id', '=', organisationId)
    .orderBy('cost_units')
    .execute();
}

async function totals(organisationId: string) {
  return test.database.db
    .selectFrom('request_totals')
    .select(['requests', 'input_tokens', 'output_tokens', 'cached_input_tokens', 'cost_units'])
    .where('organisation_id', '=', organisationId)
    .execute();
}

const settledUse = { input_tokens: 400, output_tokens: 30, cached_input_tokens: 100 };
const settledRow = { ...settledUse, cost_units: costOfUsed, is_estimated: 0 };
const estimated = { input_tokens: 4_000, output_tokens: 1_000, cached_input_tokens: 1_000 };
const estimatedRow = { ...estimated, cost_units: granted.costUnits, is_estimated: 1 };

async function expectSettled(organisationId: string): Promise<void> {
  expect(await rows(organisationId)).toEqual([settledRow]);
  const counted = { ...settledUse, cost_units: costOfUsed };
  expect(await totals(organisationId)).toEqual([{ requests: 1, ...counted }]);
  expect(await open(organisationId)).toEqual([]);
}

it('is settled first and logged later, with a crash in either step', async () => {
  const organisationId = randomUUID();
  const charge = await opened(organisationId, 'settled first');
  await expect(settle(organisationId, dyingBefore)).rejects.toThrow('killed before');
  await expect(settle(organisationId, dyingBehind)).rejects.toThrow('killed behind');
  await settle(organisationId);
  expect(await open(organisationId)).toMatchObject([{ logged_at: null }]);
  let tries = 0;
  await log(organisationId, [charge], async (work) => {
    tries += 1;
    const lost = () => {
      if (tries < 3) throw new DatabaseUnavailable('lost');
    };
    const result = await test.database.transaction(async (tx) => {
      const done = await work(tx);
      if (tries === 1) lost();
      return done;
    }, 1);
    lost();
    return result;
  });
  expect(tries).toBe(3);
  await expectSettled(organisationId);
});

it('is logged first and settled later, concurrently and with a crash', async () => {
  const organisationId = randomUUID();
  await log(organisationId, [await opened(organisationId, 'logged first')]);
  expect(await rows(organisationId)).toEqual([estimatedRow]);
  const [row] = (await open(organisationId)) as [OpenCharge];
  await expect(settle(organisationId, dyingBefore)).rejects.toThrow('killed before');
  expect(await rows(organisationId)).toEqual([estimatedRow]);
  expect(await open(organisationId)).toEqual([row]);
  const each = [usual, dyingBehind, usual, usual];
  await Promise.allSettled(each.map((by) => settleCharge(by, row, used, now)));
  await settleCharge(usual, row, used, now);
  await expectSettled(organisationId);
});

it('is settled and logged concurrently, beside charges without reported usage', async () => {
  const organisationId = randomUUID();
  const names = Array.from({ length: 24 }, (_, at) => `raced ${at}`);
  const charges = await Promise.all(names.map((name) => opened(organisationId, name)));
  const known = await open(organisationId);
  const settleAll = async () => {
    for (const row of known) await settleCharge(usual, row, used, now);
  };
  const halves = [charges.slice(0, 12), charges.slice(12)];
  const logging = halves.map((half) => log(organisationId, [...half, null]));
  await Promise.all([...logging, settleAll(), settleAll()]);
  const found = await rows(organisationId);
  expect(found).toEqual([...charges.map(() => settledRow), estimatedRow, estimatedRow]);
  const sum = (column: 'input_tokens' | 'cost_units') =>
    found.reduce((all, row) => all + Number(row[column]), 0);
  expect(await totals(organisationId)).toMatchObject([
    { requests: 26, input_tokens: sum('input_tokens'), cost_units: sum('cost_units') },
  ]);
  expect(await open(organisationId)).toEqual([]);
});

it('is unchanged when no usage is reported, or when another request has the object open', async () => {
  const organisationId = randomUUID();
  const charge = await opened(organisationId, 'twice');
  const again = await opened(organisationId, 'twice');
  await log(organisationId, [again]);
  await settle(organisationId);
  await log(organisationId, [charge]);
  expect(await rows(organisationId)).toEqual([settledRow, estimatedRow]);
  expect(await open(organisationId)).toEqual([]);

  const other = randomUUID();
  const unsaid = await opened(other, 'unsaid');
  const [row] = (await open(other)) as [OpenCharge];
  await settleCharge(usual, row, null, now);
  await log(other, [unsaid]);
  expect(await rows(other)).toEqual([estimatedRow]);
  expect(await open(other)).toEqual([]);
});

it('updates what is left of log and totals, and restores no deleted row', async () => {
  const { db } = test.database;
  const [one, other] = [randomUUID(), randomUUID()];
  for (const organisationId of [one, other]) {
    await log(organisationId, [await opened(organisationId, 'old')]);
  }
  await db.deleteFrom('request_logs').where('organisation_id', '=', one).execute();
  await db.deleteFrom('request_totals').where('organisation_id', '=', other).execute();
  await settle(one);
  await settle(other);
  expect(await rows(one)).toEqual([]);
  const counted = { ...settledUse, cost_units: costOfUsed };
  expect(await totals(one)).toEqual([{ requests: 1, ...counted }]);
  expect(await rows(other)).toEqual([settledRow]);
  expect(await totals(other)).toEqual([]);
  expect([...(await open(one)), ...(await open(other))]).toEqual([]);
});

it('stays for a week for the log of a killed process, without calling the provider', async () => {
  const organisationId = randomUUID();
  await opened(organisationId, 'never logged');
  await settle(organisationId);
  const job = settleOpenCharges({
    read: () => Promise.reject(new Error('asked')),
    lines: () => Promise.reject(new Error('asked')),
  });
  const nothing = { settled: 0, unsaid: 0, open: 0, postponed: 0 };
  expect(await job.run(jobContext(test.database, now + 6 * dayMs))).toEqual(nothing);
  expect(await open(organisationId)).toHaveLength(1);
  expect(await job.run(jobContext(test.database, now + 7 * dayMs))).toEqual(nothing);
  expect(await open(organisationId)).toEqual([]);
});

it('updates row and totals by their full keys, including the partition', async () => {
  const organisationId = randomUUID();
  await log(organisationId, [await opened(organisationId, 'found')]);
  const [row] = (await open(organisationId)) as [OpenCharge];
  const found = await test.database.db
    .selectFrom('request_logs as logged')
    .innerJoin('request_totals as counted', 'counted.organisation_id', 'logged.organisation_id')
    .select(['logged.id as logId', 'counted.id as totalsId', 'counted.began_at as beganAt'])
    .where('logged.organisation_id', '=', organisationId)
    .where('logged.ended_at', '=', row.logged_at!)
    .execute();
  const beganAt = startOfTotalsStep(row.logged_at!);
  expect(found).toEqual([{ logId: row.log_id, totalsId: row.totals_id, beganAt }]);
});
