/** Tests the simulated link to the database that other tests make fail. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/connection/db.ts';
import { createEmptyDatabase } from '../../support/database/database.ts';
import { startDatabaseLink } from '../../support/database/database-link.ts';

it.each(['slow', 'freeze'] as const)(
  'forwards each statement once after %s and mend',
  async (fault) => {
    await using real = await createEmptyDatabase();
    await using link = await startDatabaseLink();
    await using database = openDatabase(await link.lead(real.settings));
    await sql`CREATE TABLE sent (id INT)`.execute(database.db);
    link[fault](1);
    link.mend();
    await sql`INSERT INTO sent VALUES (1)`.execute(database.db);
    const { rows } = await sql`SELECT id FROM sent`.execute(database.db);
    expect(rows).toEqual([{ id: 1 }]);
  },
);
