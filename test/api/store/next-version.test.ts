/**
 * Verifies that this version and the next one run together on the next schema, unless a migration
 * is breaking.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import type { Db } from '../../../src/store/connection/db.ts';
import { migrate } from '../../../src/store/migrations/migrate.ts';
import { Description, type Operation } from '../../support/interface/response-check.ts';
import { RightRequests } from '../../support/interface/valid-requests.ts';
import { exchange } from '../../support/network/exchange.ts';
import { type ConsoleServer, startConsoleServer } from '../../support/server/console.ts';

const log = createLog({ level: 'silent' });
const shipped = join(import.meta.dirname, '../../../migrations');
let directory: string;
let server: ConsoleServer;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gatewright-next-'));
  cpSync(shipped, directory, { recursive: true });
  server = await startConsoleServer();
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await server[Symbol.asyncDispose]();
});

/** Applies what the next version's `migrate` adds to this version's schema. */
async function migrateFurther(name: string, statements: readonly string[]): Promise<void> {
  writeFileSync(join(directory, `${name}.sql`), statements.join(';\n'));
  expect((await migrate(server.settings.database!, { log, directory })).applied).toEqual([name]);
}

async function tablesOf(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`SELECT table_name AS name
    FROM information_schema.tables WHERE table_schema = DATABASE()
      AND table_name <> 'schema_migrations'`.execute(db);
  return rows.map(({ name }) => name);
}

const ready = () => exchange('GET', `${server.url}/readyz`, undefined, {});

/** Starts another app of this version, as a pod does. */
const startAnother = async (): Promise<void> => {
  const app = await createApp(server.settings, { log, consoleFolder: server.folder });
  await app[Symbol.asyncDispose]();
};

it('answers every call as before after the next version has extended every table', async () => {
  const { db } = server.database;
  const tables = await tablesOf(db);
  expect(tables.length).toBeGreaterThan(20);
  await migrateFurther('9001_next', [
    ...tables.map((table) => `ALTER TABLE ${table} ADD COLUMN of_the_next INT NOT NULL DEFAULT 7`),
    'CREATE TABLE of_the_next (id INT PRIMARY KEY)',
  ]);
  const { body } = await exchange('GET', `${server.url}/openapi.json`, undefined, {});
  const description = new Description(body);
  const requests = new RightRequests(server, description, await server.token(), (faults) =>
    expect(faults).toEqual([]),
  );
  await requests.furnish();
  // Proposals need a Git host, and are 409 without one.
  const isOne = ({ path }: Operation): boolean =>
    !path.endsWith('/proposals') && /^\/(?:v2|iam|admin\/v2\/gatewright)\//.test(path);
  const failed: string[] = [];
  for (const one of description.operations.filter(isOne)) {
    const answer = await requests.ask(one, await requests.place(one), requests.right(one));
    if (answer.status >= 300) failed.push(`${one.method} ${one.path} ${answer.status}`);
  }
  expect(failed).toEqual([]);
  expect((await ready()).status).toBe(200);
  await startAnother();
});

it('refuses to start after a breaking migration by name, and makes running servers unready', async () => {
  await migrateFurther('9002_breaking', ['-- breaking\nDROP TABLE of_the_next']);
  await expect(startAnother()).rejects.toMatchObject({
    kind: 'refusedByGuard',
    message: expect.stringContaining('9002_breaking'),
  });
  // A probe rechecks a schema that was usable after half a minute.
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 31_000);
  const { status, body } = await ready();
  expect([status, body.reasons]).toEqual([503, ['the database schema is too-new']]);
});
