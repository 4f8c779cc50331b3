/** Verifies that a process returns what others lack, and asks for that once for all of its organisations. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DatabaseBank } from '../../../src/ledger/database-bank.ts';
import { createLedger, type Ledger } from '../../../src/ledger/ledger.ts';
import type { Limit } from '../../../src/ledger/limit.ts';
import type { LimitBank } from '../../../src/ledger/limit-bank.ts';
import { newId } from '../../../src/model/wire/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertLimit } from '../../support/rows/usage-rows.ts';
import { eventually } from '../../support/server/eventually.ts';

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test[Symbol.asyncDispose]());

const now = () => Date.now();

/** A ledger that notes for how many organisations it asks at once. */
function countingLedger(calls: number[]): Ledger {
  const database = new DatabaseBank({ database: test.database, now });
  const bank: LimitBank = {
    exchange: (request) => database.exchange(request),
    listWanted: (holders) => {
      calls.push(holders.length);
      return database.listWanted(holders);
    },
    settle: (...both) => database.settle(...both),
    close: (holder) => database.close(holder),
  };
  return createLedger({ database: test.database, clock: { now }, bank, journal: null });
}

async function use(ledger: Ledger, limit: Limit, tokens: number): Promise<void> {
  const account = ledger.open();
  const bound = { likelyInputTokens: tokens, outputTokens: 0, outputTokensMin: 0, price: null };
  await account.admit([limit], { ...bound, inputTokens: tokens });
  const cached = { cachedInputTokens: 0, cacheWriteTokens: 0 };
  account.settle({ inputTokens: tokens, outputTokens: 0, ...cached, costUnits: 0 });
}

it('returns idle units of many organisations to a process that lacks them', async () => {
  const limits: Limit[] = [];
  for (let count = 0; count < 12; count += 1) {
    limits.push(await insertLimit(test.database.db, newId(), { limitUnits: 100_000 }));
  }
  const calls: number[] = [];
  await using holding = countingLedger(calls);
  await using lacking = createLedger({ database: test.database, clock: { now }, journal: null });
  await Promise.all(limits.map((limit) => use(holding, limit, 1_000)));
  await eventually(() => expect(calls.at(-1)).toBe(limits.length));
  await Promise.all(limits.map((limit) => use(lacking, limit, 99_000)));
});
