/** Verifies that a sealed snapshot returns every value of every table, however many rows a table has. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDeploymentKey } from '../../../src/auth/data-keys.ts';
import {
  type SnapshotTableName,
  snapshotTables,
} from '../../../src/store/reads/snapshot-tables.ts';
import type { SnapshotView } from '../../../src/store/reads/snapshot-view.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { expectEqualRows } from '../../support/snapshot/expect-equal-rows.ts';
import {
  insertOrganisation,
  insertRows,
  touchMarks,
} from '../../support/snapshot/generated-rows.ts';
import { buildAll, builderOn, readerOn, testMasterKeys } from '../../support/snapshot/snapshots.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase({ breaksRules: true });
  await openDeploymentKey(test.database.db, testMasterKeys());
});
afterAll(() => test[Symbol.asyncDispose]());

const tables = Object.keys(snapshotTables) as SnapshotTableName[];

describe('a sealed snapshot of generated rows', () => {
  it('returns every value of every table as the database does, in few and in many rows', async () => {
    const { db } = test.database;
    const builder = builderOn(db);
    using held = readerOn(db);
    const id = await insertOrganisation(db);
    for (const rows of [3, 1_500, 40]) {
      for (const table of tables) await insertRows(db, table, id, rows);
      await test.database.transaction(async (tx) => touchMarks(tx, id));
      await buildAll(builder);
      await held.reader.pull();
      await expectEqualRows(db, held.reader.view()!, [id]);
      await expectFound(held.reader.view()!, id);
    }
  });
});

/** Finds each of some rows by each of its columns. */
async function expectFound(view: SnapshotView, id: string) {
  const held = view.organisation(id)!;
  for (const table of tables) {
    const rows = held.all(table) as Record<string, unknown>[];
    const sample = rows.filter((_, at) => at % 500 === 0);
    for (const row of sample) {
      for (const column of snapshotTables[table].columns) {
        const found = held.rows(table, column as never, row[column] as never);
        const equal = rows.filter((other) => isDeepStrictEqual(other[column], row[column]));
        expect({ table, column, found }).toEqual({ table, column, found: equal });
      }
      if (table === 'api_key_hashes') expect(view.keyValue(row.hash as Buffer)).toEqual(row);
    }
  }
}
