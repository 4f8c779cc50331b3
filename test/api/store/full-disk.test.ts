/**
 * Verifies a database with a full disk: changes are rejected, the server is not ready, and it
 * recovers.
 */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { Secret } from '../../../src/secret.ts';
import { migrate } from '../../../src/store/migrations/migrate.ts';
import { startTestDatabaseServer } from '../../support/database/database-server.ts';
import { mountSmallDisk, unmountSmallDisk } from '../../support/database/small-disk.ts';
import { exchange } from '../../support/network/exchange.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const disk = mountSmallDisk(192);

/** Writes until not one more byte fits. */
function fill(path: string): void {
  const file = openSync(path, 'a');
  for (let bytes = 1024 * 1024; bytes >= 1; ) {
    try {
      writeSync(file, Buffer.alloc(bytes, 1));
    } catch {
      bytes = Math.floor(bytes / 2);
    }
  }
  closeSync(file);
}

describe.skipIf(disk === null)('a database with a full disk', () => {
  let own: Awaited<ReturnType<typeof startTestDatabaseServer>>;
  let server: TestServer;
  const filler = join(disk ?? '', 'filler');

  beforeAll(async () => {
    own = await startTestDatabaseServer(['--innodb-file-per-table=ON'], disk!);
    server = await startTestServer({
      between: async (usual) => {
        const { port, user, password } = own.server;
        const name = 'gatewright_test';
        const settings = { ...usual, port, user, password: new Secret(password, 'test'), name };
        await migrate(settings, { log: createLog({ level: 'silent' }) });
        return settings;
      },
    });
  });
  afterAll(async () => {
    rmSync(filler, { force: true });
    await server[Symbol.asyncDispose]();
    await own.stop();
    unmountSmallDisk(disk!);
  });

  const create = (name: string) =>
    server.request('POST', '/v2/workspaces', { body: { name, description: 'd'.repeat(4000) } });
  const ready = () => exchange('GET', `${server.url}/readyz`, undefined, {});

  it('returns 503 for every change, reports not ready, and recovers when there is room', async () => {
    expect((await create('before')).status).toBe(200);
    expect((await ready()).status).toBe(200);
    fill(filler);
    const statuses = new Map<number, number>();
    for (let at = 0; (statuses.get(503) ?? 0) < 20; at++) {
      const { status, body, headers } = await create(`w${at}`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 200) continue;
      expect([status, body.error.code, headers['retry-after']]).toEqual([503, 'AB04', '1']);
    }
    expect([...statuses.keys()].toSorted()).toEqual([200, 503]);
    const refused = await ready();
    expect([refused.status, refused.body.reasons]).toEqual([
      503,
      ['the database refuses changes: its disk is full, or it is read only'],
    ]);
    expect((await server.request('GET', '/v2/workspaces')).status).toBe(200);
    expect((await exchange('GET', `${server.url}/livez`, undefined, {})).status).toBe(200);
    rmSync(filler);
    await expect.poll(async () => (await ready()).status).toBe(200);
    expect((await create('after')).status).toBe(200);
  });
});
