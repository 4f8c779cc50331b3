/** Inserts rows with generated values into every table that a sealed snapshot contains. */
import { randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from '../../../src/store/connection/db.ts';
import {
  type SnapshotTableName,
  snapshotTables,
} from '../../../src/store/reads/snapshot-tables.ts';
import * as peopleMarks from '../../../src/store/rows/people-marks.ts';
import * as snapshotMarks from '../../../src/store/rows/snapshot-marks.ts';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly length: number | null;
  readonly isNullable: boolean;
  readonly isText: boolean;
}

async function readColumns(db: Db, table: SnapshotTableName): Promise<Column[]> {
  const { rows } = await sql<{
    name: string;
    type: string;
    length: number | null;
    nullable: string;
    collation: string | null;
  }>`
    SELECT column_name AS name, data_type AS type, character_maximum_length AS length,
      is_nullable AS nullable, collation_name AS collation
    FROM information_schema.columns
    WHERE table_name = ${table} AND table_schema = DATABASE()`.execute(db);
  return rows.map(({ name, type, length, nullable, collation }) => ({
    name,
    type,
    length: length === null ? null : Number(length),
    isNullable: nullable === 'YES',
    isText: collation?.startsWith('utf8') ?? false,
  }));
}

function generatedValue(table: string, column: Column, at: number): unknown {
  const { name, type, length, isNullable, isText } = column;
  if (name === 'status') return 'active';
  if (isNullable && at % 3 === 1) return null;
  switch (type) {
    case 'char':
      return randomUUID().slice(0, length!);
    case 'binary':
      return randomBytes(length!);
    case 'varbinary':
      return Buffer.from(`${at} ö ${randomUUID()}`);
    case 'tinyint':
      return at % 2;
    case 'bigint':
      return 1_700_000_000_000 + at;
    case 'int':
    case 'smallint':
      return at + 1;
    default: {
      const text = isText ? `{"${table}":"ä ${at}"}` : `${at}-${randomBytes(3).toString('hex')}`;
      return text.slice(0, length ?? 64);
    }
  }
}

/** Inserts an organisation that nothing else uses. */
export async function insertOrganisation(db: Db): Promise<string> {
  const id = randomUUID();
  const tsg_id = String(randomBytes(4).readUInt32BE() + 1_000_000_000).slice(0, 10);
  await sql`INSERT INTO organisations (id, tsg_id, name, created_at)
    VALUES (${id}, ${tsg_id}, 'generated', 1)`.execute(db);
  return id;
}

/** Replaces the rows of an organisation in a table by `count` others. */
export async function insertRows(
  db: Db,
  table: SnapshotTableName,
  organisationId: string,
  count: number,
): Promise<void> {
  const { tenant } = snapshotTables[table];
  if (table === 'organisations') return;
  await sql`DELETE FROM ${sql.table(table)} WHERE ${sql.ref(tenant)} = ${organisationId}`.execute(
    db,
  );
  const isSingle = table === 'organisation_defaults';
  const columns = await readColumns(db, table);
  const rows = Array.from({ length: isSingle ? 1 : count }, (_, at) =>
    columns.map((column) =>
      column.name === tenant ? organisationId : generatedValue(table, column, at),
    ),
  );
  const names = sql.join(columns.map(({ name }) => sql.ref(name)));
  for (let at = 0; at < rows.length; at += 500) {
    const values = rows.slice(at, at + 500).map((row) => sql`(${sql.join(row)})`);
    await sql`INSERT INTO ${sql.table(table)} (${names}) VALUES ${sql.join(values)}`.execute(db);
  }
}

/** Marks an organisation as changed; `tx` is a transaction. */
export function touchMarks(tx: Db, organisationId: string): void {
  snapshotMarks.replaceOne(tx, organisationId);
  peopleMarks.replaceOne(tx, organisationId);
}
