/** Verifies that a sealed snapshot has exactly the rows of the database, and follows every change. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type SnapshotTableName,
  snapshotTables,
} from '../../../src/store/reads/snapshot-tables.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addTenant } from '../../support/server/tenant.ts';
import { expectEqualRows } from '../../support/snapshot/expect-equal-rows.ts';
import { buildAll, builderOn, readerOn } from '../../support/snapshot/snapshots.ts';
import { everyKind, onlyOnes, openSync } from '../../support/sync/sync-setup.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const tables = Object.keys(snapshotTables) as SnapshotTableName[];

describe('the list of tables in a snapshot', () => {
  it('decides for every column of each table whether it is part of a snapshot', async () => {
    for (const table of tables) {
      const { columns, omitted } = snapshotTables[table];
      const { rows } = await sql<{ name: string }>`
        SELECT column_name AS name FROM information_schema.columns
        WHERE table_name = ${table} AND table_schema = DATABASE()`.execute(server.database.db);
      const decided = [...columns, ...omitted].toSorted();
      expect({ table, columns: rows.map(({ name }) => name).toSorted() }).toEqual({
        table,
        columns: decided,
      });
    }
  });
});

describe('a sealed snapshot', () => {
  it('has the rows of every table after every kind of change, of all organisations', async () => {
    const { db } = server.database;
    const other = await addTenant(server);
    const builder = builderOn(db);
    using held = readerOn(db);
    const ids = [server.organisationId, other.organisationId];
    const follow = async () => {
      await buildAll(builder);
      await held.reader.pull();
      expect(held.reader.isCurrent()).toBe(true);
      await expectEqualRows(db, held.reader.view()!, ids);
    };
    await follow();
    await using sync = openSync(server);
    const manifests = everyKind + onlyOnes;
    await sync.cycle(manifests);
    await follow();
    await sync.cycle(manifests.replaceAll('1000', '2000').replace('attempts: 3', 'attempts: 4'));
    await follow();
    await sync.cycle('');
    await follow();
    expect(held.refused).toEqual([]);
  });
});
