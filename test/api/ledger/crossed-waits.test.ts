/** Verifies that requests of two processes do not wait for units that each process keeps from the other. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLedger, type Ledger } from '../../../src/ledger/ledger.ts';
import type { Limit } from '../../../src/ledger/limit.ts';
import { newId } from '../../../src/model/wire/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertLimit } from '../../support/rows/usage-rows.ts';

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test[Symbol.asyncDispose]());

/** More than half of a limit, so that only one request at a time fits. */
const tokens = 600;
const used = { inputTokens: 10, outputTokens: 0, costUnits: 0 };
const usage = { ...used, cachedInputTokens: 0, cacheWriteTokens: 0 };

function startLedger(): Ledger {
  return createLedger({ database: test.database, clock: { now: Date.now }, journal: null });
}

/** Admits a request, and returns what ends it. */
async function admit(ledger: Ledger, limits: readonly Limit[]): Promise<() => void> {
  const account = ledger.open();
  const bound = { likelyInputTokens: tokens, outputTokens: 0, outputTokensMin: 0, price: null };
  await account.admit(limits, { ...bound, inputTokens: tokens });
  return () => account.settle(usage);
}

it.each([[0, 1] as const, [1, 0] as const])(
  'admits both of two requests when each process holds what the other one lacks (limits %i and %i)',
  async (first, second) => {
    const organisationId = newId();
    const made: Limit[] = [];
    for (let count = 0; count < 2; count += 1) {
      made.push(await insertLimit(test.database.db, organisationId, { limitUnits: 1_000 }));
    }
    const limits = made.toSorted((one, other) => (one.subjectId < other.subjectId ? -1 : 1));
    await using one = startLedger();
    await using other = startLedger();
    const endOne = await admit(one, [limits[first]!]);
    const endOther = await admit(other, [limits[second]!]);
    const waiting = [one, other].map(async (ledger) => (await admit(ledger, limits))());
    // Each has what its process held, and waits for the rest.
    await Promise.all([one.report(organisationId), other.report(organisationId)]);
    endOne();
    endOther();
    const outcomes = await Promise.allSettled(waiting);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  },
);
