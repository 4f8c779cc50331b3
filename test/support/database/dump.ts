/** Reads every row of a test database as text, to search it for values that must not be stored. */
import { sql } from 'kysely';
import type { Db } from '../../../src/store/connection/db.ts';

/** Returns the rows of all tables; bytes are read as text. */
export async function dumpDatabase(db: Db): Promise<string> {
  const { rows: tables } = await sql<{ name: string }>`SELECT table_name AS name
    FROM information_schema.tables WHERE table_schema = database()`.execute(db);
  const texts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await sql<Record<string, unknown>>`SELECT * FROM ${sql.table(name)}`.execute(
      db,
    );
    const values = rows.flatMap((row) => Object.values(row));
    texts.push(...values.map((value) => (Buffer.isBuffer(value) ? `${value}` : String(value))));
  }
  return texts.join('\n');
}
