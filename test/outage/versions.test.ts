/** Tests gateways of this version beside what the next version adds: a newer schema, and a newer format of the snapshot. */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { eventually } from '../support/server/eventually.ts';
import { startUpstream } from '../support/upstream/upstream.ts';
import { chatAt, unknownKeys } from './caller.ts';
import { type Deployment, type GatewayPlace, startDeployment } from './deployment.ts';

const shipped = join(import.meta.dirname, '../../migrations');

/** Runs the migration of a next version, which extends every table. */
async function migrateFurther({ server, folder }: Deployment): Promise<void> {
  const directory = join(folder, 'migrations');
  cpSync(shipped, directory, { recursive: true });
  const { rows } = await sql<{ name: string }>`SELECT table_name AS name
    FROM information_schema.tables WHERE table_schema = DATABASE()
      AND table_name <> 'schema_migrations'`.execute(server.database.db);
  const statements = rows.map(
    ({ name }) => `ALTER TABLE ${name} ADD COLUMN of_the_next INT NOT NULL DEFAULT 7`,
  );
  writeFileSync(join(directory, '9001_next.sql'), statements.join(';\n'));
  const log = createLog({ level: 'silent' });
  const { applied } = await migrate(server.settings.database!, { log, directory });
  expect(applied).toEqual(['9001_next']);
}

async function startServed(stack: AsyncDisposableStack) {
  const provider = stack.use(await startUpstream());
  const deployment = stack.use(await startDeployment({ hosts: [provider.host] }));
  const config = await deployment.addConfig({}, provider.url);
  const { key } = await deployment.addKey();
  const place = await deployment.addGateway();
  await deployment.awaitSaved(place);
  const ask = async (of: GatewayPlace, by = key): Promise<number> =>
    (await chatAt(of, by, { config })).status;
  return { deployment, place, ask };
}

it('serves, builds and starts on the schema of the next version, while its migration runs under load', async () => {
  await using stack = new AsyncDisposableStack();
  const { deployment, place, ask } = await startServed(stack);
  const over = new AbortController();
  const asking = (async () => {
    const statuses = new Set<number>();
    while (!over.signal.aborted) statuses.add(await ask(place));
    return statuses;
  })();
  await migrateFurther(deployment);
  const late = await deployment.addKey();
  await eventually(async () => expect(await ask(place, late.key)).toBe(200));
  await deployment.awaitSaved(place);
  over.abort();
  expect(await asking).toEqual(new Set([200]));
  const another = await deployment.addGateway();
  expect(await ask(another, late.key)).toBe(200);
  await deployment.awaitSaved(another);
  await another.kill();
  another.link.cut();
  await another.start();
  expect(await ask(another, late.key)).toBe(200);
});

it('keeps its own snapshot while the next version publishes one that it cannot read', async () => {
  await using stack = new AsyncDisposableStack();
  const { deployment, place, ask } = await startServed(stack);
  await deployment.killControl();
  const { db } = deployment.server.database;
  // The version is behind the first four bytes of a sealed head. Its etag is new.
  await sql`UPDATE snapshot_heads
    SET body = CONCAT(SUBSTRING(body, 1, 4), x'63', SUBSTRING(body, 6)),
        etag = UNHEX(SHA2(UUID(), 256))`.execute(db);
  const faults = () => place.metric('gatewright_snapshot_faults_total{fault="pull"}');
  await eventually(async () => expect(await faults()).toBeGreaterThan(0));
  const late = await deployment.addKey();
  await eventually(async () => expect(await ask(place, late.key)).toBe(200));
  place.link.cut();
  await place.kill();
  await place.start();
  expect(await ask(place)).toBe(200);
  // Newer changes exist than it can read.
  for (const key of [late.key, ...Object.values(unknownKeys())]) {
    expect(await ask(place, key)).toBe(503);
  }
  place.link.mend();
  await deployment.startControl();
  await deployment.awaitSaved(place);
  expect(await ask(place, late.key)).toBe(200);
});
