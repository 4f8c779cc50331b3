/** Knows the keyspaces that tests on a sharded Vitess take in turn: who has one, and that the next finds it as it was. */
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';

/** Where a server keeps the tables of one organisation, or those of all; plain data, which travels to the test workers. */
export interface KeyspacePool {
  /** The server behind all shards, reached past Vitess, by one who may do everything. */
  readonly behind: { host: '127.0.0.1'; port: number; user: string; password: string };
  /** Names of keyspaces without tables, and of those that hold what every migration makes. */
  readonly empty: readonly string[];
  readonly migrated: readonly string[];
}

export interface TakenKeyspace extends AsyncDisposable {
  readonly name: string;
}

/** What tests make for themselves: tables of no tenant, which one server keeps. */
export const tablesOfTests = ['a', 'b', 'counters', 'kept', 'others'];

/** Databases on the server behind that a keyspace and its global one are made of, each with its template's name. */
export function databasesOf(
  name: string,
): { readonly database: string; readonly template: string }[] {
  return [
    { database: `vt_${name}_-80`, template: 'template_tenant' },
    { database: `vt_${name}_80-`, template: 'template_tenant' },
    { database: `vt_${name}_global_0`, template: 'template_global' },
  ];
}

/** Resolves once one of the kind is free; its disposal makes it what it was. */
export async function takeKeyspace(
  pool: KeyspacePool,
  kind: 'empty' | 'migrated',
): Promise<TakenKeyspace> {
  const holder = await createConnection({ ...pool.behind, multipleStatements: true });
  for (let at = process.pid; ; at += 1) {
    const name = pool[kind][at % pool[kind].length]!;
    // The lock goes with its connection, however the test ends; where all are taken, it waits.
    const [[row]] = await holder.query<RowDataPacket[]>('SELECT GET_LOCK(?, 0.1) AS held', [name]);
    if (Number(row!.held) !== 1) continue;
    return {
      name,
      [Symbol.asyncDispose]: async () => {
        try {
          for (const { database, template } of databasesOf(name)) {
            await restore(holder, database, kind === 'migrated' ? template : null);
          }
        } finally {
          await holder.end();
        }
      },
    };
  }
}

/** Gives a database the tables and rows of its template, or none. @param connection takes several statements in one go */
export async function restore(
  connection: Connection,
  database: string,
  template: string | null,
): Promise<void> {
  const wanted = template === null ? new Map() : await shapesOf(connection, template);
  const found = await shapesOf(connection, database);
  const statements: string[] = [];
  for (const [table, shape] of found) {
    if (wanted.get(table) !== shape) statements.push(`DROP TABLE \`${database}\`.\`${table}\``);
    else statements.push(`DELETE FROM \`${database}\`.\`${table}\``);
  }
  for (const [table, shape] of wanted) {
    const [to, from] = [database, template].map((place) => `\`${place}\`.\`${table}\``);
    if (found.get(table) !== shape) statements.push(`CREATE TABLE ${to} LIKE ${from}`);
    statements.push(`INSERT INTO ${to} SELECT * FROM ${from}`);
  }
  if (statements.length > 0) await connection.query(statements.join(';\n'));
}

/** Columns and partitions of each table, as text that is equal where they are. */
async function shapesOf(connection: Connection, database: string): Promise<Map<string, string>> {
  const [columns] = await connection.query<RowDataPacket[]>(
    `SELECT TABLE_NAME AS t, COLUMN_NAME AS c, COLUMN_TYPE AS k, IS_NULLABLE AS n
     FROM information_schema.columns WHERE TABLE_SCHEMA = ? ORDER BY TABLE_NAME, ORDINAL_POSITION`,
    [database],
  );
  const [partitions] = await connection.query<RowDataPacket[]>(
    `SELECT TABLE_NAME AS t, PARTITION_NAME AS p FROM information_schema.partitions
     WHERE TABLE_SCHEMA = ? AND PARTITION_NAME IS NOT NULL ORDER BY 1, 2`,
    [database],
  );
  const shapes = new Map<string, string>();
  for (const { t, c, k, n } of columns) shapes.set(t, `${shapes.get(t) ?? ''}${c} ${k} ${n},`);
  for (const { t, p } of partitions) shapes.set(t, `${shapes.get(t)}${p},`);
  return shapes;
}
