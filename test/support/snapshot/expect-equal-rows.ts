/** Compares the rows of a sealed snapshot with those of the database. */
import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Db } from '../../../src/store/connection/db.ts';
import {
  type SnapshotTableName,
  snapshotTables,
} from '../../../src/store/reads/snapshot-tables.ts';
import type { SnapshotView } from '../../../src/store/reads/snapshot-view.ts';
import { listGenerations } from '../../../src/store/rows/snapshot-marks.ts';

const tables = Object.keys(snapshotTables) as SnapshotTableName[];

/** Rows of an organisation as the database returns them, in the order of the primary key. */
async function storedRows(db: Db, table: SnapshotTableName, organisationId: string) {
  const { columns, key, tenant } = snapshotTables[table];
  const refs = (names: readonly string[]) => sql.join(names.map((name) => sql.ref(name)));
  const { rows } = await sql`
    SELECT ${refs([...columns])} FROM ${sql.table(table)}
    WHERE ${sql.ref(tenant)} = ${organisationId} ORDER BY ${refs([...key])}`.execute(db);
  return rows;
}

/** Also compares the generation. */
export async function expectEqualRows(db: Db, view: SnapshotView, organisationIds: string[]) {
  for (const id of organisationIds) {
    const held = view.organisation(id)!;
    for (const table of tables) {
      const rows = await storedRows(db, table, id);
      expect({ table, rows: held.all(table) }).toEqual({ table, rows });
    }
    const generations = await listGenerations(db, [id]);
    expect(held.generation).toBe(generations.get(id));
  }
}
