/** Verifies that a change does not touch unknown columns, on a server that reports them itself. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { startTestServer } from '../../support/server/server.ts';

it('keeps the columns that the next version has written in the same row', async () => {
  await using server = await startTestServer();
  const { db } = server.database;
  await sql`ALTER TABLE workspaces ADD COLUMN of_the_next INT NOT NULL DEFAULT 7`.execute(db);
  const { id } = (await server.request('POST', '/v1/workspaces', { body: { name: 'a' } })).body;
  await sql`UPDATE workspaces SET of_the_next = 9 WHERE id = ${id}`.execute(db);
  const put = await server.request('PUT', `/v1/workspaces/${id}`, { body: { name: 'b' } });
  expect(put.status).toBe(200);
  const { rows } = await sql`SELECT name, of_the_next FROM workspaces WHERE id = ${id}`.execute(db);
  expect(rows).toEqual([{ name: 'b', of_the_next: 9 }]);
});
