/** Creates a database with a table of two counters, for tests of connections. */
import { sql } from 'kysely';
import { afterEach, beforeEach } from 'vitest';
import type { Db } from '../../../src/store/connection/db.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

/** Call it once in a file; `take` receives the database before each test. */
export function eachWithCounters(take: (test: TestDatabase) => void): void {
  let test: TestDatabase;
  beforeEach(async () => {
    test = await createTestDatabase();
    const { db } = test.database;
    await sql`CREATE TABLE counters (id INT PRIMARY KEY, value INT NOT NULL)`.execute(db);
    await sql`INSERT INTO counters VALUES (1, 0), (2, 0)`.execute(db);
    take(test);
  });
  afterEach(() => test[Symbol.asyncDispose]());
}

export const add = (db: Db, id: number) =>
  sql`UPDATE counters SET value = value + 1 WHERE id = ${id}`.execute(db);

export async function counterValue(db: Db, id: number): Promise<number> {
  const found = await sql<{ value: number }>`SELECT value FROM counters WHERE id = ${id}`.execute(
    db,
  );
  return found.rows[0]!.value;
}
