/** Lends the keyspaces of a sharded Vitess to tests in turn, and resets them after use. */
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';

/** Where a server stores the tables of one organisation, or the global ones; plain data, serialised to the test workers. */
export interface KeyspacePool {
  /** Direct connection to the server of all shards, bypassing Vitess, with all rights. */
  readonly behind: { host: '127.0.0.1'; port: number; user: string; password: string };
  /** Names of keyspaces without tables, and of those with the tables of every migration. */
  readonly empty: readonly string[];
  readonly migrated: readonly string[];
}

export interface TakenKeyspace extends AsyncDisposable {
  readonly name: string;
}

/** Tables that tests create for themselves, outside of any tenant. */
export const tablesOfTests = ['a', 'b', 'counters', 'kept', 'others'];

/** Databases of a keyspace and its global one on that server, each with its template's name. */
export function databasesOf(
  name: string,
): { readonly database: string; readonly template: string }[] {
  return [
    { database: `vt_${name}_-80`, template: 'template_tenant' },
    { database: `vt_${name}_80-`, template: 'template_tenant' },
    { database: `vt_${name}_global_0`, template: 'template_global' },
  ];
}

/** Resolves once one of the kind is free; disposal resets it. */
export async function takeKeyspace(
  pool: KeyspacePool,
  kind: 'empty' | 'migrated',
): Promise<TakenKeyspace> {
  const holder = await createConnection({ ...pool.behind, multipleStatements: true });
  for (let at = process.pid; ; at += 1) {
    const name = pool[kind][at % pool[kind].length]!;
    // The lock is released with its connection, however the test ends; it waits while all are in use.
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

/** Copies tables and rows of the template into a database, or empties it. @param connection permits multiple statements */
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

/** Columns and partitions of each table, as comparable text. */
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
