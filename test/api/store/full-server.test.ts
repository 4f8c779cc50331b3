/** Verifies the connection pool at a server that has no free connection. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Secret } from '../../../src/secret.ts';
import type { DatabaseSettings } from '../../../src/settings.ts';
import { openDatabase } from '../../../src/store/connection/db.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

const connectionsMax = 3;
const numbers = Array.from({ length: 20 }, (_, index) => index);

interface Row {
  readonly number: number;
}

let test: TestDatabase;
let limited: DatabaseSettings;

const asOwner = (text: string) => sql.raw(text).execute(test.database.db);

beforeAll(async () => {
  test = await createTestDatabase();
  const user = `few_${test.settings.name.slice(-12)}`;
  const password = new Secret('few-only', 'test');
  limited = { ...test.settings, user, password, poolSize: 8, poolWaitSeconds: 300 };
  await asOwner(
    `CREATE USER ${user}@'%' IDENTIFIED BY 'few-only' WITH MAX_USER_CONNECTIONS ${connectionsMax}`,
  );
  await asOwner(`GRANT SELECT ON ${test.settings.name}.* TO ${user}@'%'`);
});
afterAll(async () => {
  await asOwner(`DROP USER ${limited.user}@'%'`);
  await test[Symbol.asyncDispose]();
});

it('passes a returned connection to a waiting caller when the server accepts no further one', async () => {
  await using database = openDatabase(limited);
  const held = Promise.withResolvers<void>();
  const holders = Array.from({ length: connectionsMax }, (_, index) =>
    database.transaction(async (tx) => {
      await sql`SELECT ${index}`.execute(tx);
      await held.promise;
    }),
  );
  try {
    await expect.poll(() => database.pool().size).toBe(connectionsMax);
    const waiting = Promise.all(
      numbers.map((number) => sql<Row>`SELECT ${number} AS number`.execute(database.db)),
    );
    // Until then the server has rejected the earlier callers.
    await expect(refusal()).resolves.toContain('lower DB_POOL_SIZE or raise the limit');
    held.resolve();
    const answers = await waiting;
    expect(answers.map(({ rows }) => Number(rows[0]!.number))).toEqual(numbers);
    expect(database.pool().size).toBe(connectionsMax);
  } finally {
    held.resolve();
    await Promise.all(holders);
  }
});

/** Returns the error for a caller for whom no connection can be returned. */
async function refusal(): Promise<string> {
  await using other = openDatabase(limited);
  return await sql`SELECT 1`.execute(other.db).then(
    () => 'served',
    (error: Error) => error.message,
  );
}
