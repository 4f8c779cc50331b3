/**
 * Verifies the schema: the tenant first in every key, names for every check, one shard per tenant.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createTestDatabase,
  schemaNames,
  type TestDatabase,
} from '../../support/database/database.ts';

const docs = resolve(import.meta.dirname, '../../../docs');

interface IndexColumn {
  readonly table: string;
  readonly index: string;
  readonly column: string;
  readonly position: number;
  readonly isUnique: boolean;
}

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly collation: string | null;
}

let test: TestDatabase;
let indexes: IndexColumn[];
let columns: Column[];
let tables: string[];

beforeAll(async () => {
  test = await createTestDatabase();
  const found = await Promise.all(schemaNames(test.settings).map(readSchema));
  indexes = found.flatMap((schema) => schema.indexes);
  columns = found.flatMap((schema) => schema.columns);
  tables = [...new Set(columns.map(({ table }) => table))].toSorted();
});
afterAll(() => test[Symbol.asyncDispose]());

async function readSchema(schema: string): Promise<{ indexes: IndexColumn[]; columns: Column[] }> {
  const { db } = test.database;
  const indexed = await sql<{
    t: string;
    i: string;
    c: string;
    position: number;
    duplicates: number;
  }>`
    SELECT table_name AS t, index_name AS i, column_name AS c,
      seq_in_index AS position, non_unique AS duplicates
    FROM information_schema.statistics WHERE table_schema = ${schema}`.execute(db);
  const listed = await sql<{ t: string; c: string; type: string; collation: string | null }>`
    SELECT table_name AS t, column_name AS c, data_type AS type, collation_name AS collation
    FROM information_schema.columns WHERE table_schema = ${schema}
    ORDER BY table_name, ordinal_position`.execute(db);
  return {
    indexes: indexed.rows.map((row) => ({
      table: row.t,
      index: row.i,
      column: row.c,
      position: Number(row.position),
      isUnique: Number(row.duplicates) === 0,
    })),
    columns: listed.rows.map((row) => ({
      table: row.t,
      name: row.c,
      type: row.type,
      collation: row.collation,
    })),
  };
}

/** Listed in one place: the section of that name in docs/reference/schema.md. */
function globalTables(): string[] {
  const text = readFileSync(resolve(docs, 'reference/schema.md'), 'utf8');
  const section = text.split('\n## ').find((part) => part.startsWith('Global tables'))!;
  return [...section.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name!);
}

const tenantTables = () => tables.filter((table) => !globalTables().includes(table));

describe('every table of a tenant', () => {
  it('is every table except the global ones, each of which exists', () => {
    expect(globalTables().filter((table) => !tables.includes(table))).toEqual([]);
    expect(tenantTables().length).toBeGreaterThan(10);
  });

  it('has the organisation first in its primary key and in every unique key', () => {
    const first = indexes.filter(
      ({ table, position, isUnique }) =>
        isUnique && position === 1 && tenantTables().includes(table),
    );
    expect(first.filter(({ column }) => column !== 'organisation_id')).toEqual([]);
    const keyed = new Set(first.filter(({ index }) => index === 'PRIMARY').map((one) => one.table));
    expect(tenantTables().filter((table) => !keyed.has(table))).toEqual([]);
  });

  it('stores the organisation in the one type by which tenants are sharded', () => {
    const types = columns
      .filter(({ name, table }) => name === 'organisation_id' && tenantTables().includes(table))
      .map(({ type, collation }) => `${type} ${collation}`);
    expect(new Set(types)).toEqual(new Set(['char ascii_bin']));
  });
});

describe('the database schema', () => {
  it('uses nothing that a sharded or replicated engine lacks', async () => {
    const { db } = test.database;
    const found = await sql<{ kind: string; name: string }>`
      SELECT 'trigger' AS kind, trigger_name AS name FROM information_schema.triggers
      WHERE trigger_schema = DATABASE()
      UNION ALL SELECT 'routine', routine_name FROM information_schema.routines
      WHERE routine_schema = DATABASE()
      UNION ALL SELECT 'foreign key', constraint_name FROM information_schema.table_constraints
      WHERE table_schema = DATABASE() AND constraint_type = 'FOREIGN KEY'`.execute(db);
    expect(found.rows).toEqual([]);
    const primary = new Set(indexes.filter(({ index }) => index === 'PRIMARY').map((i) => i.table));
    expect(tables.filter((table) => !primary.has(table))).toEqual([]);
  });

  it('names every check after its table, so that a fault can be reported and the check changed', async () => {
    const found = await sql<{ t: string; name: string }>`
      SELECT tc.table_name AS t, tc.constraint_name AS name
      FROM information_schema.table_constraints AS tc
      WHERE tc.table_schema = DATABASE() AND tc.constraint_type = 'CHECK'`.execute(
      test.database.db,
    );
    expect(found.rows.length).toBeGreaterThan(0);
    expect(found.rows.filter(({ t, name }) => !name.startsWith(`${t}_`))).toEqual([]);
  });

  it('compares all text byte by byte', () => {
    const compared = columns.filter(({ collation }) => collation !== null);
    expect(compared.filter(({ collation }) => !/^(ascii|utf8mb4)_bin$/.test(collation!))).toEqual(
      [],
    );
  });

  it('is described to Vitess column by column in migrations/vschema.json', async () => {
    const keyspace = (names: readonly string[], shard: object) =>
      Object.fromEntries(names.map((table) => [table, { ...shard, ...columnList(table) }]));
    const columnList = (table: string) => ({
      column_list_authoritative: true,
      columns: columns
        .filter((column) => column.table === table)
        .map(({ name, type }) => ({ name, type: vitessTypes[type] })),
    });
    const byOrganisation = {
      column_vindexes: [{ column: 'organisation_id', name: 'organisation' }],
    };
    const vschema = {
      gatewright: {
        sharded: true,
        vindexes: { organisation: { type: 'xxhash' } },
        tables: keyspace(tenantTables(), byOrganisation),
      },
      gatewright_global: { tables: keyspace(globalTables().toSorted(), {}) },
    };
    // Updated by `vitest run --project api test/api/store/schema.test.ts -u`.
    await expect(`${JSON.stringify(vschema, null, 1)}\n`).toMatchFileSnapshot(
      resolve(docs, '../migrations/vschema.json'),
    );
  });
});

const vitessTypes: Readonly<Record<string, string>> = {
  char: 'CHAR',
  varchar: 'VARCHAR',
  varbinary: 'VARBINARY',
  binary: 'BINARY',
  text: 'TEXT',
  longtext: 'TEXT',
  tinyint: 'INT8',
  smallint: 'INT16',
  int: 'INT32',
  bigint: 'INT64',
  decimal: 'DECIMAL',
  enum: 'ENUM',
  datetime: 'DATETIME',
};
