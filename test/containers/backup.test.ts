/** Tests the backup of docs/guides/operations.md: a dump restores on another server under a newer release, and credentials keep working. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { getContainerRuntimeClient } from 'testcontainers';
import { expect, inject, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { openDatabase } from '../../src/store/connection/db.ts';
import { checkConsistency } from '../../src/store/consistency.ts';
import { migrate, migrationStatus } from '../../src/store/migrations/migrate.ts';
import { createEmptyDatabase } from '../support/database/database.ts';
import { startTestServer } from '../support/server/server.ts';

const root = resolve(import.meta.dirname, '../..');

/** The commands of docs/guides/operations.md for this engine, verbatim. */
function commandOf(program: 'dump' | 'restore'): string {
  const { make } = inject('containers');
  const text = readFileSync(join(root, 'docs/guides/operations.md'), 'utf8');
  const client = {
    dump: { mariadb: 'mariadb-dump', mysql: 'mysqldump' },
    restore: { mariadb: 'mariadb', mysql: 'mysql' },
  };
  const line = text.split('\n').find((found) => found.startsWith(`${client[program][make]} `));
  if (line === undefined)
    throw new Error(`docs/guides/operations.md has no ${client[program][make]}`);
  return line;
}

/** Runs a line in the server's container, with its variables set. */
async function runInDatabase(line: string, name: string): Promise<void> {
  const { user, password } = inject('databaseServer');
  const { container: engine } = await getContainerRuntimeClient();
  const container = engine.getById(inject('containers').databaseId);
  const values = `DB_HOST=127.0.0.1 DB_USER=${user} DB_NAME=${name} MYSQL_PWD='${password}'`;
  const script = `export ${values}; cd /tmp; ${line}`;
  const { exitCode, output } = await engine.exec(container, ['sh', '-c', script]);
  if (exitCode !== 0) throw new Error(`${line}\n${output}`);
}

it('restores a dump taken during service as a complete deployment of a newer release', async () => {
  await using old = await startTestServer();
  const made = await old.request('POST', '/v1/api-keys/organisation/service', {
    body: { name: 'bot', scopes: ['workspaces.list'] },
  });
  await old.request('POST', '/v2/workspaces', { body: { name: 'Support' } });
  await runInDatabase(commandOf('dump'), old.settings.database!.name);
  await old.request('POST', '/v2/workspaces', { body: { name: 'Later' } });

  await using restored = await createEmptyDatabase();
  await runInDatabase(commandOf('restore'), restored.settings.name);
  const release = mkdtempSync(join(tmpdir(), 'gatewright-release-'));
  try {
    cpSync(join(root, 'migrations'), release, { recursive: true });
    writeFileSync(join(release, '9999_next.sql'), 'ALTER TABLE workspaces ADD COLUMN next INT');
    const log = createLog({ level: 'silent' });
    const { applied } = await migrate(restored.settings, { log, directory: release });
    expect(applied).toEqual(['9999_next']);
    expect((await migrationStatus(restored.settings, { directory: release })).state).toBe(
      'current',
    );
  } finally {
    rmSync(release, { recursive: true });
  }

  // The tests' key ring consists of one master key, like that of a deployment.
  await using server = await startTestServer({ between: async () => restored.settings });
  for (const key of [made.body.key, old.organisationApiKey]) {
    const answer = await server.request('GET', '/v1/admin/workspaces', {
      auth: 'none',
      headers: { 'x-gateway-api-key': key },
    });
    expect(answer.status).toBe(200);
    expect(answer.body.data.map(({ name }: { name: string }) => name)).toEqual(['Support']);
  }
  await using database = openDatabase(restored.settings);
  expect((await checkConsistency(database)).found).toEqual([]);
});
