/**
 * Verifies the rotation of the master key: with running servers, interrupted anywhere, and without
 * loss.
 */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type App, createApp } from '../../../src/app.ts';
import { rotateMasterKey } from '../../../src/auth/data-keys.ts';
import { createKeyring, type Keyring } from '../../../src/auth/keyring.ts';
import { createMasterKeys } from '../../../src/auth/master-keys.ts';
import { createLog } from '../../../src/log.ts';
import type { MasterKeySettings } from '../../../src/settings/groups/master-keys.ts';
import type { Db } from '../../../src/store/connection/db.ts';
import { countByMasterKey } from '../../../src/store/resources/data-keys.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { masterKeysOf, startTestServer, type TestServer } from '../../support/server/server.ts';
import { addTenant } from '../../support/server/tenant.ts';
import { endAt, steppingDatabase } from '../../support/sync/kill-points.ts';

type Keys = readonly [number, ...number[]];

const canary = 'canary-5d0c1f';
const place = 'table|row|column';
let server: TestServer;
/** The settings that the server reads when its files change. */
let files: MasterKeySettings;
beforeEach(async () => {
  files = masterKeysOf(1);
  const masterKeys = { ...masterKeysOf(1), refresh: () => files };
  server = await startTestServer({ settings: { masterKeys } });
});
afterEach(() => server[Symbol.asyncDispose]());

const idOf = (key: number): string => createMasterKeys(masterKeysOf(key)).currentId;
async function open(...keys: Keys): Promise<Keyring> {
  const keyring = createKeyring(server.database, createMasterKeys(masterKeysOf(...keys)));
  await keyring.open();
  return keyring;
}

const rotate = (keys: Keys, db: Db = server.database.db, tell: (done: number) => void = () => {}) =>
  rotateMasterKey(db, createMasterKeys(masterKeysOf(...keys)), {
    onProgress: ({ done }) => tell(done),
    signal: new AbortController().signal,
  });
const counts = async () => Object.fromEntries(await countByMasterKey(server.database.db));

/** Returns a text that each of these organisations has sealed. */
async function sealFor(keyring: Keyring, count: number): Promise<Map<string, string>> {
  const ids = Array.from({ length: count }, () => randomUUID());
  const seal = async (id: string) =>
    [id, (await keyring.sealerOf(id)).seal(`${canary} ${id}`, place)] as const;
  return new Map(await Promise.all(ids.map(seal)));
}

async function expectReadable(keyring: Keyring, sealed: ReadonlyMap<string, string>) {
  for (const [id, text] of sealed) {
    expect((await keyring.unsealerOf(id)).unseal(text, place)).toBe(`${canary} ${id}`);
  }
}

async function withReplica<T>(keys: Keys, work: (app: App, url: string) => Promise<T>) {
  const settings = { ...server.settings, masterKeys: masterKeysOf(...keys) };
  const now = () => server.clock.now();
  await using app = await createApp(settings, {
    clock: server.clock,
    readSharedTime: async () => now(),
    components: ['admin', 'gateway'],
    log: createLog({ level: 'error' }),
  });
  return await work(app, (await app.listen()).adminUrl!);
}

describe('a rotation of the master key', () => {
  it('leaves everything readable when it is killed at any step, and completes when it is run again', async () => {
    const sealed = await sealFor(server.app.keyring, 3);
    const stepwise = steppingDatabase(server.database.db);
    let deaths = 0;
    for (; (await endAt(deaths + 1, () => rotate([2, 1], stepwise))) === 'dead'; deaths += 1) {
      await expectReadable(await open(2, 1), sealed);
      await expectReadable(await open(1, 2), sealed);
      await rotate([2, 1]);
      expect(await counts()).toEqual({ [idOf(2)]: 4 });
      await expectReadable(await open(2), sealed);
      await expect(open(1)).rejects.toThrow(`master key ${idOf(2)}`);
      await rotate([1, 2]);
    }
    expect(deaths).toBeGreaterThan(8);
    expect(await counts()).toEqual({ [idOf(2)]: 4 });
  });

  it('reports its progress, and does nothing when it is run again', async () => {
    await sealFor(server.app.keyring, 110);
    const reported: number[] = [];
    const done = await rotate([2, 1], undefined, (at) => reported.push(at));
    expect(done).toEqual({ rewrapped: 111, total: 111 });
    expect(reported).toEqual([0, 1, 101]);
    expect(await rotate([2])).toEqual({ rewrapped: 0, total: 111 });
  });

  it('changes nothing when the key that seals the data keys is missing', async () => {
    await expect(rotate([3, 2])).rejects.toThrow(`master key ${idOf(1)}`);
    expect(await counts()).toEqual({ [idOf(1)]: 1 });
  });

  it('runs beside other rotations and new organisations, and loses no key', async () => {
    const all = new Map<string, string>();
    for (let round = 0; round < 6; round += 1) {
      const rings = await Promise.all([open(1, 2, 3), open(2, 3, 1)]);
      const targets: Keys[] = [
        [2, 1, 3],
        [1, 2, 3],
        [2, 3, 1],
        [3, 1, 2],
      ];
      const ends = Promise.allSettled(targets.map((keys) => rotate(keys)));
      const made = await Promise.all(rings.map((ring) => sealFor(ring, 4)));
      for (const [id, text] of made.flatMap((one) => [...one])) all.set(id, text);
      for (const end of await ends) {
        if (end.status === 'rejected') expect(end.reason).toMatchObject({ kind: 'retryable' });
      }
    }
    await rotate([2, 1, 3]);
    expect(await counts()).toEqual({ [idOf(2)]: all.size + 1 });
    await expectReadable(await open(2), all);
  });

  it('leaves one data key to an organisation that several processes use first at the same time', async () => {
    const id = randomUUID();
    const rings = await Promise.all(Array.from({ length: 8 }, () => open(1)));
    const sealers = await Promise.all(rings.map((ring) => ring.sealerOf(id)));
    for (const sealer of sealers)
      expect(sealers[0]!.unseal(sealer.seal(canary, place), place)).toBe(canary);
  });
});

describe('servers during a rotation of the master key', () => {
  const integration = {
    name: 'CRM',
    url: 'https://crm.example.com/mcp',
    auth_type: 'headers',
    transport: 'http',
    configurations: { custom_headers: { authorization: canary } },
  };
  const makeAt = (url: string, credential: Record<string, string>) =>
    exchange('POST', `${url}/v1/mcp-integrations`, integration, credential);
  const readAt = (url: string, credential: Record<string, string>) =>
    exchange('GET', `${url}/v1/api-keys`, undefined, credential);

  it('accepts the same tokens and keys throughout, and reads what the others have sealed', async () => {
    const bearer = { authorization: `Bearer ${await server.token()}` };
    const key = { 'x-gateway-api-key': server.organisationApiKey };
    const sealed = await sealFor(server.app.keyring, 3);
    await withReplica([2, 1], async (app, url) => {
      // Until the rotation starts, a server that knows the new key still uses the old one.
      await expectReadable(server.app.keyring, await sealFor(app.keyring, 1));
      expect(Object.keys(await counts())).toEqual([idOf(1)]);
      const works = async () => {
        for (const [at, credential] of [server.url, url].flatMap((one) =>
          [bearer, key].map((other) => [one, other] as const),
        )) {
          expect((await readAt(at, credential)).status).toBe(200);
        }
        await expectReadable(app.keyring, sealed);
        await expectReadable(server.app.keyring, sealed);
      };
      await works();
      await rotate([2, 1]);
      await works();
      expect((await makeAt(url, bearer)).status).toBe(200);
      expect(Object.keys(await counts())).toEqual([idOf(2)]);
    });
    await withReplica([2], async (app, url) => {
      await expectReadable(app.keyring, sealed);
      expect((await readAt(url, bearer)).status).toBe(200);
      expect((await readAt(url, key)).status).toBe(200);
    });
  });

  it('reports a missing new key, serves cached data keys, rejects the rest, and reads the key from their files', async () => {
    const known = { authorization: `Bearer ${await server.token()}` };
    expect((await makeAt(server.url, known)).status).toBe(200);
    const other = await addTenant(server);
    await rotate([2, 1]);
    const probe = () => exchange('GET', `${server.url}/readyz`, undefined, {});
    expect(await probe()).toMatchObject({
      status: 200,
      body: { status: 'degraded', reasons: [expect.stringContaining(`master key ${idOf(2)}`)] },
    });
    expect((await makeAt(server.url, known)).status).toBe(200);
    const make = () => other.send('POST', '/v1/mcp-integrations', { body: integration });
    expect(await make()).toMatchObject({ status: 503 });
    expect(await counts()).toEqual({ [idOf(2)]: 2 });
    files = masterKeysOf(2);
    expect((await make()).status).toBe(200);
    await eventually(async () =>
      expect((await probe()).body).toEqual({ status: 'ok', reasons: [] }),
    );
    expect(await counts()).toEqual({ [idOf(2)]: 3 });
    expect(server.logLines.join()).not.toContain(canary);
  });

  it('refuses to start with a wrong key, with the old one alone, or without the old one before the end', async () => {
    await sealFor(server.app.keyring, 2);
    const start = (...keys: Keys) => withReplica(keys, async () => 'started');
    await expect(start(3)).rejects.toThrow(
      'The data keys of this database are encrypted with master key',
    );
    await expect(start(2)).rejects.toThrow(`master key ${idOf(1)}`);
    const stepwise = steppingDatabase(server.database.db);
    await endAt(6, () => rotate([2, 1], stepwise));
    expect(Object.keys(await counts()).toSorted()).toEqual([idOf(1), idOf(2)].toSorted());
    await expect(start(1)).rejects.toMatchObject({ kind: 'refusedByGuard' });
    await expect(start(2)).rejects.toThrow('GATEWRIGHT_MASTER_KEY_PREVIOUS');
    expect(await start(2, 1)).toBe('started');
  });
});
