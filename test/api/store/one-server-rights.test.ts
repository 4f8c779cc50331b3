/** Verifies that a server needs only the rights to read and write rows of its database. */
import { createConnection } from 'mysql2/promise';
import { expect, it } from 'vitest';
import { Secret } from '../../../src/secret.ts';
import type { DatabaseSettings } from '../../../src/settings.ts';
import { type ServerOverrides, startTestServer } from '../../support/server/server.ts';
import { everyKind, openSync } from '../../support/sync/sync-setup.ts';

async function asOwner(settings: DatabaseSettings, statements: readonly string[]): Promise<void> {
  const { host, port, user, password } = settings;
  const connection = await createConnection({ host, port, user, password: password?.reveal() });
  try {
    for (const sql of statements) await connection.query(sql);
  } finally {
    await connection.end();
  }
}

it('serves, syncs and deletes every kind and runs its jobs with SELECT, INSERT, UPDATE and DELETE', async () => {
  let owner: DatabaseSettings | undefined;
  const between: ServerOverrides['between'] = async (real) => {
    owner = real;
    const user = `rows_${real.name.slice(-12)}`;
    await asOwner(real, [
      `CREATE USER ${user}@'%' IDENTIFIED BY 'rows-only'`,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ${real.name}.* TO ${user}@'%'`,
    ]);
    return { ...real, user, password: new Secret('rows-only', 'test') };
  };
  await using server = await startTestServer({
    between,
    settings: { auditDays: 365 },
  });
  const { user } = server.settings.database!;
  expect(user).toMatch(/^rows_/);
  try {
    await using sync = openSync(server);
    expect(await sync.cycle(everyKind)).toMatchObject({ ending: 'success' });
    expect(await sync.cycle('')).toMatchObject({ ending: 'success' });
    const jobs = await server.app.jobs.list();
    for (const { name } of jobs) {
      expect(await server.app.jobs.runNow(name)).toMatchObject({ state: 'done' });
    }
    const log = server.logLines.join('\n');
    expect(log).not.toMatch(/denied|command denied/);
  } finally {
    await asOwner(owner!, [`DROP USER ${user}@'%'`]);
  }
});
