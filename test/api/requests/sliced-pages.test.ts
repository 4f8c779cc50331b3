/** Verifies that a page of large rows is read on demand, a few rows at a time. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as apiKeys from '../../../src/store/resources/api-keys.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { apiKeyRow, insertApiKeys } from '../../support/rows/api-key-row.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test[Symbol.asyncDispose]());

it('returns every row in order, and reads no row long before it is requested', async () => {
  const { db } = test.database;
  const organisation_id = randomUUID();
  const metadata = JSON.stringify({ text: 'x'.repeat(300_000) });
  const rows = Array.from({ length: 12 }, () => apiKeyRow({ organisation_id, metadata }));
  for (const row of rows) await insertApiKeys(db, [row]);
  const newestFirst = rows
    .map(({ id }) => id)
    .toSorted()
    .toReversed();
  const page = { limit: 10, offset: 1 };
  const { ids, rows: read, total } = await apiKeys.list(db, organisation_id, {}, page);
  expect([ids, total]).toEqual([newestFirst.slice(1, 11), 12]);
  const reported: string[] = [];
  for await (const row of read) {
    reported.push(row.id);
    // Three rows are one MiB: those are read, the fourth is not yet.
    if (reported.length > 1) continue;
    await test.database.transaction((tx) => apiKeys.deleteById(tx, organisation_id, ids[3]!));
  }
  expect(reported).toEqual(ids.filter((_, at) => at !== 3));
});
