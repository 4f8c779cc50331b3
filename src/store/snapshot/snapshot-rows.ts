/** Reads the rows of organisations for a sealed snapshot, and digests by which unchanged rows are recognised. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { type SnapshotTableName, snapshotTables } from '../reads/snapshot-tables.ts';
import type { DataKeyRow } from '../resources/data-keys.ts';

export type PlainRow = Readonly<Record<string, unknown>>;

/** Some of the parts into which the rows of a table are divided. */
export interface PartChoice {
  /** A power of two. */
  readonly count: number;
  readonly numbers: readonly number[];
}

/** Rows of the organisations by organisation, in the order of the primary key. */
export async function listRows(
  tx: Db,
  table: SnapshotTableName,
  organisationIds: readonly string[],
  choice: PartChoice | null = null,
): Promise<Map<string, PlainRow[]>> {
  const { columns, key, tenant } = snapshotTables[table];
  const names = [...columns].map((name) => sql.ref(name));
  const order = [...new Set([tenant, ...key])].map((name) => sql.ref(name));
  const chosen =
    choice === null
      ? sql``
      : sql` AND ${partOf(table, choice.count)} IN (${sql.join(choice.numbers.map((n) => sql.lit(n)))})`;
  const { rows } = await sql<PlainRow>`
    SELECT ${sql.join(names)} FROM ${sql.table(table)}
    WHERE ${sql.ref(tenant)} IN (${sql.join(organisationIds)})${chosen}
    ORDER BY ${sql.join(order)}`.execute(tx);
  return Map.groupBy(rows, (row) => row[tenant] as string);
}

/** Number of the part of a row; `crc32` of the same bytes selects it in memory. */
function partOf(table: SnapshotTableName, count: number): RawBuilder<number> {
  return sql<number>`(crc32(${sql.ref(snapshotTables[table].partBy)}) & ${sql.lit(count - 1)})`;
}

/** Number of rows by organisation. */
export async function countByOrganisation(
  tx: Db,
  table: SnapshotTableName,
  organisationIds: readonly string[],
): Promise<Map<string, number>> {
  const { tenant } = snapshotTables[table];
  const { rows } = await sql<{ id: string; total: number }>`
    SELECT ${sql.ref(tenant)} AS id, COUNT(*) AS total FROM ${sql.table(table)}
    WHERE ${sql.ref(tenant)} IN (${sql.join(organisationIds)})
    GROUP BY ${sql.ref(tenant)}`.execute(tx);
  return new Map(rows.map(({ id, total }) => [id, Number(total)]));
}

/** Rows of one part. */
export interface PartDigest {
  /** Changes with every value of every row. */
  readonly digest: string;
  readonly rows: number;
}

/**
 * Digests of the parts of a table by number, computed by the database, so that a change of one row does
 * not transfer all. Parts without rows are absent.
 */
export async function listPartDigests(
  tx: Db,
  table: SnapshotTableName,
  organisationId: string,
  count: number,
): Promise<Map<number, PartDigest>> {
  const { columns, tenant } = snapshotTables[table];
  // The length of each value makes the text of different rows different.
  const values = [...columns].map(
    (name) => sql`ifnull(concat(length(${sql.ref(name)}), ':', ${sql.ref(name)}), '-')`,
  );
  const half = (side: 'left' | 'right') =>
    sql`hex(bit_xor(cast(conv(${sql.raw(side)}(d, 16), 16, 10) as unsigned)))`;
  const { rows } = await sql<{ part: number; total: number; a: string; b: string }>`
    SELECT part, COUNT(*) AS total, ${half('left')} AS a, ${half('right')} AS b FROM (
      SELECT ${partOf(table, count)} AS part, md5(concat(${sql.join(values)})) AS d
      FROM ${sql.table(table)} WHERE ${sql.ref(tenant)} = ${organisationId}
    ) AS digests GROUP BY part`.execute(tx);
  return new Map(
    rows.map(({ part, total, a, b }) => [
      Number(part),
      { digest: `${[...columns].join()} ${total} ${a} ${b}`, rows: Number(total) },
    ]),
  );
}

/** Wrapped data keys by organisation; '' for the deployment's. */
export async function listDataKeys(
  db: Db,
  organisationIds: readonly string[],
): Promise<Map<string, DataKeyRow>> {
  const rows = await db
    .selectFrom('data_keys')
    .selectAll()
    .where('organisation_id', 'in', organisationIds)
    .execute();
  return new Map(rows.map((row) => [row.organisation_id, row]));
}

/** Time of the database within the read. */
export async function readTime(tx: Db): Promise<number> {
  const { rows } = await sql<{ now: number }>`SELECT ${serverNowMs} AS now`.execute(tx);
  return rows[0]!.now;
}
