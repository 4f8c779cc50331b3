/**
 * Verifies that every key file authenticates: values are never lost or exchanged, and are proven
 * before a run succeeds.
 */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isWellFormedApiKey, makeApiKey } from '../../../../src/model/people/credentials.ts';
import type { CycleOptions } from '../../../../src/sync/cycle/cycle-options.ts';
import { resultDocument } from '../../../../src/sync/report/document.ts';
import { textReport } from '../../../../src/sync/report/text.ts';
import { FolderSink } from '../../../../src/sync/sinks/folder-sink.ts';
import { ownerTag } from '../../../../src/sync/sinks/sink-set.ts';
import { type Fate, startFaultyProxy } from '../../../support/network/faulty-proxy.ts';
import { startTestServer, type TestServer } from '../../../support/server/server.ts';
import { endLeases } from '../../../support/sync/lease.ts';
import {
  desiredFrom,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;
beforeAll(async () => {
  server = await startSyncServer();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  sync = openSync(server);
});
afterEach(async () => {
  await endLeases(server);
  const left = server.database.db.selectFrom('managed_resources').select('owner').distinct();
  for (const { owner } of await left.execute()) {
    const client = sync.openClient({ owner });
    expect(await sync.cycle('', { client })).toMatchObject({ ending: 'success' });
  }
  await sync[Symbol.asyncDispose]();
});

/** An organisation key; `more` is added to its metadata. */
function key(name: string, scopes: string, file: string | null = `${name}.key`, more = ''): string {
  const output = file === null ? '' : `, secretOutput: {file: {path: ${file}}}`;
  return `---
apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: ${name}${more}}
spec: {scopes: [${scopes}]${output}}
`;
}
const bot = key('bot', 'workspaces.list');
const at = (file: string): string => join(sync.secretsFolder, file);
const valueIn = (file: string): string => readFileSync(at(file), 'utf8').trim();

/** The scopes of the key with this value; undefined when the value is invalid. */
async function scopesOf(value: string): Promise<string[] | undefined> {
  const headers = { 'x-gateway-api-key': value };
  const probe = await server.request('GET', '/v1/workspaces', { auth: 'none', headers });
  if (probe.status === 401) return undefined;
  return probe.status === 200 ? ['workspaces.list'] : ['configs.list'];
}

async function keyNames(): Promise<string[]> {
  const { body } = await server.request('GET', '/v2/api-keys?page_size=100');
  const names = body.data.map(({ name }: { name: string }) => name);
  return names.filter((name: string) => name.startsWith('bot')).toSorted();
}

/** The path of a pending value of this owner's run with that fence. */
async function pendingPath(fence: number, owner = 'platform'): Promise<string> {
  const tag = ownerTag({ organisationId: server.organisationId, owner });
  const folder = new FolderSink(sync.secretsFolder, tag);
  const [desired] = (await desiredFrom(bot)).resources;
  const { place } = await folder.writePending(desired!, fence, makeApiKey(''));
  return place;
}

describe('a new key', () => {
  it('is a working value in a file of mode 0600, with nothing beside it', async () => {
    const result = await sync.cycle(bot);
    expect(result).toMatchObject({ ending: 'success', deliveries: [{ state: 'delivered' }] });
    expect(await scopesOf(valueIn('bot.key'))).toEqual(['workspaces.list']);
    expect(statSync(at('bot.key')).mode & 0o777).toBe(0o600);
    expect(readdirSync(sync.secretsFolder)).toEqual(['bot.key']);
  });

  it('begins like a value that the server generates', async () => {
    await using prefixed = await startTestServer({ settings: { apiKeyPrefix: 'acme' } });
    await using other = openSync(prefixed);
    expect((await other.cycle(bot)).ending).toBe('success');
    const value = readFileSync(join(other.secretsFolder, 'bot.key'), 'utf8').trim();
    expect(value).toMatch(/^acme/);
    expect(isWellFormedApiKey(value)).toBe(true);
    const headers = { 'x-gateway-api-key': value };
    const used = await prefixed.request('GET', '/v1/workspaces', { auth: 'none', headers });
    expect(used.status).toBe(200);
  });

  it('gets a new value when a killed run left one that no key has', async () => {
    const left = await pendingPath(0);
    const before = readFileSync(left, 'utf8').trim();
    expect(await sync.cycle(bot)).toMatchObject({ ending: 'success' });
    expect(valueIn('bot.key')).not.toBe(before);
    expect(readdirSync(sync.secretsFolder)).toEqual(['bot.key']);
  });

  it('uses the value that an earlier cycle under the same lease left, as after an outage of a daemon', async () => {
    // The first lease of an owner has fence 1.
    await using fresh = await startTestServer();
    await using daemon = openSync(fresh);
    const tag = ownerTag({ organisationId: fresh.organisationId, owner: 'platform' });
    const folder = new FolderSink(daemon.secretsFolder, tag);
    const [desired] = (await desiredFrom(bot)).resources;
    const { value } = await folder.writePending(desired!, 1, makeApiKey(''));
    expect(await daemon.cycle(bot)).toMatchObject({ ending: 'success' });
    const delivered = readFileSync(join(daemon.secretsFolder, 'bot.key'), 'utf8').trim();
    expect(delivered).toBe(value.reveal());
    expect(readdirSync(daemon.secretsFolder)).toEqual(['bot.key']);
  });

  it('does not use the pending file of another owner', async () => {
    const theirs = await pendingPath(0, 'team-b');
    expect(await sync.cycle(bot)).toMatchObject({ ending: 'success' });
    expect(isWellFormedApiKey(readFileSync(theirs, 'utf8').trim())).toBe(true);
  });

  it('discards a truncated pending value, which was never sent', async () => {
    writeFileSync(await pendingPath(0), 'torn');
    expect(await sync.cycle(bot)).toMatchObject({ ending: 'success' });
    expect(readdirSync(sync.secretsFolder)).toEqual(['bot.key']);
  });

  it('leaves no value behind when the server rejects it', async () => {
    const refused = bot.replace('workspaces.list', 'no.such');
    expect(await sync.cycle(refused).catch((error: Error) => error)).not.toMatchObject({
      ending: 'success',
    });
    const early = bot.replace('spec: {', "spec: {expiresAt: '2020-01-01T00:00:00Z', ");
    expect(await sync.cycle(early)).toMatchObject({ ending: 'partialFailure' });
    expect(readdirSync(sync.secretsFolder)).toEqual([]);
  });

  it('is not created when its path leads through a symbolic link out of the secrets folder', async () => {
    symlinkSync(tmpdir(), at('out'));
    const result = await sync.cycle(key('bot', 'workspaces.list', 'out/bot.key'));
    expect(result.ending).toBe('partialFailure');
    expect(result.report?.items[0]?.message).toContain('symbolic link');
    expect(await keyNames()).toEqual([]);
  });

  it('moves a value that exists at its path to another name, and reports it', async () => {
    const stranger = makeApiKey('');
    writeFileSync(at('bot.key'), `${stranger}\n`);
    const result = await sync.cycle(bot);
    expect(result.ending).toBe('success');
    expect(result.warnings.join()).toContain('is kept in');
    expect(await scopesOf(valueIn('bot.key'))).toEqual(['workspaces.list']);
    const stored = readdirSync(sync.secretsFolder).filter((name) => name.includes('.kept-'));
    expect(stored.map(valueIn)).toEqual([stranger]);
  });

  it("is not created when the file contains the value of another owner's key", async () => {
    const theirs = sync.openClient({ owner: 'team-b' });
    await sync.cycle(key('bot-b', 'workspaces.list', 'bot.key'), { client: theirs });
    const value = valueIn('bot.key');
    const result = await sync.cycle(bot);
    expect(result.ending).toBe('partialFailure');
    expect(result.report?.items[0]?.message).toContain('another key');
    expect(valueIn('bot.key')).toBe(value);
    expect(await keyNames()).toEqual(['bot-b']);
  });
});

describe('an existing key', () => {
  it('gets its value from the pending file of an earlier run, also after its path changed', async () => {
    await sync.cycle(bot);
    const value = valueIn('bot.key');
    renameSync(at('bot.key'), await pendingPath(1));
    const moved = key('bot', 'workspaces.list', 'bots/bot.key');
    expect(await sync.cycle(moved)).toMatchObject({
      ending: 'success',
      deliveries: [{ state: 'delivered' }],
    });
    expect(valueIn('bots/bot.key')).toBe(value);
    expect(readdirSync(sync.secretsFolder)).toEqual(['bots']);
  });

  it('gets its file from a proven pending value without a write', async () => {
    await sync.cycle(bot);
    const value = valueIn('bot.key');
    renameSync(at('bot.key'), await pendingPath(0));
    expect(readdirSync(sync.secretsFolder)).toHaveLength(1);
    const planned = await sync.cycle(bot, { act: false });
    expect(planned.deliveries).toMatchObject([{ state: 'pending' }]);
    expect(planned.warnings.join()).toContain('is pending; apply puts it in');
    const client = sync.openClient();
    const result = await sync.cycle(bot, { client });
    expect(result).toMatchObject({ ending: 'success', warnings: [] });
    expect(client.writes).toBe(0);
    expect(valueIn('bot.key')).toBe(value);
    expect(readdirSync(sync.secretsFolder)).toEqual(['bot.key']);
  });

  it('uses its pending value instead of an older file', async () => {
    await sync.cycle(bot);
    const value = valueIn('bot.key');
    renameSync(at('bot.key'), await pendingPath(0));
    const old = makeApiKey('');
    writeFileSync(at('bot.key'), old);
    expect(await sync.cycle(bot)).toMatchObject({ ending: 'success' });
    expect(valueIn('bot.key')).toBe(value);
  });

  it('reports another value in its file in plan and apply, by file and key, without changing it', async () => {
    await sync.cycle(bot);
    const wrong = makeApiKey('');
    writeFileSync(at('bot.key'), wrong);
    for (const act of [false, true]) {
      const result = await sync.cycle(bot, { act });
      expect(result).toMatchObject({
        ending: 'partialFailure',
        deliveries: [{ state: 'mismatch' }],
      });
      expect(textReport(result)).toContain(`SecretMismatch: the value in ${at('bot.key')}`);
      expect(JSON.stringify(resultDocument(result))).not.toContain(wrong);
    }
    expect(valueIn('bot.key')).toBe(wrong);
  });

  it('fails an apply and causes a warning in a plan when its file is missing', async () => {
    await sync.cycle(bot);
    rmSync(at('bot.key'));
    const planned = await sync.cycle(bot, { act: false });
    expect(planned).toMatchObject({ ending: 'success', deliveries: [{ state: 'none' }] });
    const applied = await sync.cycle(bot);
    expect(applied.ending).toBe('partialFailure');
    expect(applied.warnings.join()).toContain('SecretMissing: ApiKey/bot');
    expect(applied.warnings.join()).toContain(at('bot.key'));
  });

  it('gets exactly the new value when it is replaced, and the old value is invalid', async () => {
    await sync.cycle(bot);
    const old = valueIn('bot.key');
    const replaced = bot.replace(
      'spec: {',
      'spec: {subType: user, userId: 0197c2a5-6f5e-7c3a-9d5e-1f2a3b4c5d6e, ',
    );
    const result = await sync.cycle(replaced);
    expect(result.plan.changes).toMatchObject([{ action: 'replace' }]);
    expect(result).toMatchObject({ ending: 'success', deliveries: [{ state: 'delivered' }] });
    expect(await scopesOf(valueIn('bot.key'))).toEqual(['workspaces.list']);
    expect(await scopesOf(old)).toBeUndefined();
    expect(readdirSync(sync.secretsFolder)).toEqual(['bot.key']);
  });

  it('has its file moved when the path changes, wherever in the folder the file is, as the plan says', async () => {
    await sync.cycle(bot);
    const value = valueIn('bot.key');
    const moved = key('bot', 'workspaces.list', 'deep/er/bot.key');
    const planned = await sync.cycle(moved, { act: false });
    expect(planned).toMatchObject({ ending: 'success', deliveries: [{ state: 'elsewhere' }] });
    expect(planned.warnings.join()).toContain(`is in ${at('bot.key')}; apply moves it`);
    const client = sync.openClient();
    expect(await sync.cycle(moved, { client })).toMatchObject({
      ending: 'success',
      warnings: [],
      deliveries: [{ state: 'delivered' }],
    });
    expect(client.writes).toBe(0);
    expect(valueIn('deep/er/bot.key')).toBe(value);
    expect(readdirSync(sync.secretsFolder)).toEqual(['deep']);
    expect(await sync.cycle(bot)).toMatchObject({ ending: 'success' });
    expect(valueIn('bot.key')).toBe(value);
  });

  it('is searched for past links, unreadable folders and other files when its value is missing', async () => {
    await sync.cycle(bot);
    rmSync(at('bot.key'));
    mkdirSync(at('closed'), { mode: 0 });
    symlinkSync('/', at('everything'));
    writeFileSync(at('large'), 'x'.repeat(100_000));
    expect(await sync.cycle(bot, { act: false })).toMatchObject({
      deliveries: [{ state: 'none' }],
    });
    rmdirSync(at('closed'));
  });

  it('causes a warning before creation when it has no secretOutput, because its value would be lost', async () => {
    const { warnings } = await sync.cycle(key('bot', 'workspaces.list', null), { act: false });
    expect(warnings.join()).toContain('ApiKey/bot has no secretOutput');
  });
});

describe('a key that is renamed while a new one gets its name', () => {
  const fresh = key('bot', 'configs.list');

  it('keeps id, scopes, value and file; the new key gets its own', async () => {
    await sync.cycle(bot);
    const [old, id] = [valueIn('bot.key'), (await sync.cycle(bot)).deliveries[0]!.keyId];
    const legacy = key('bot-legacy', 'workspaces.list', 'legacy.key', ', previousNames: [bot]');
    const result = await sync.cycle(legacy + fresh);
    expect(result.ending).toBe('success');
    expect(result.deliveries.find(({ key: name }) => name === 'ApiKey/bot-legacy')?.keyId).toBe(id);
    expect(valueIn('legacy.key')).toBe(old);
    expect(await scopesOf(old)).toEqual(['workspaces.list']);
    expect(await scopesOf(valueIn('bot.key'))).toEqual(['configs.list']);
    expect(readdirSync(sync.secretsFolder)).toEqual(['bot.key', 'legacy.key']);
    expect((await sync.cycle(legacy + fresh)).plan.changes).toEqual([]);
  });

  it('keeps its value aside when it has no file of its own', async () => {
    await sync.cycle(bot);
    const old = valueIn('bot.key');
    const legacy = key('bot-legacy', 'workspaces.list', null, ', previousNames: [bot]');
    expect((await sync.cycle(legacy + fresh)).ending).toBe('success');
    expect(await scopesOf(valueIn('bot.key'))).toEqual(['configs.list']);
    const stored = readdirSync(sync.secretsFolder).filter((name) => name.includes('.kept-'));
    expect(stored.map(valueIn)).toEqual([old]);
    expect(await scopesOf(old)).toEqual(['workspaces.list']);
  });
});

interface Runner extends AsyncDisposable {
  /** The ending of one run, or the code of its failure. */
  run(fateOf: (index: number) => Fate, text?: string): Promise<string>;
  readonly folder: string;
  /** Number of requests of the last run. */
  seen: number;
}

/** A run with its own or a shared folder, through a network that fails as planned. */
function runner(setup: SyncSetup, folder: string): Runner {
  const self = {
    folder,
    seen: 0,
    run: async (fateOf: (index: number) => Fate, text = bot) => {
      await using proxy = await startFaultyProxy(server.url, fateOf);
      const { url } = proxy;
      const client = setup.openClient({ adminBaseUrl: url, baseUrl: `${url}/v1`, authUrl: url });
      const options: Partial<CycleOptions> = { client, secretsFolder: folder };
      const ending = await setup.cycle(text, options).then(
        (result) => result.ending as string,
        (error: { kind?: string }) => error.kind ?? String(error),
      );
      self.seen = proxy.seen;
      return ending;
    },
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }),
  };
  return self;
}

/** The invariant after any scenario: one key, and every file authenticates. */
async function expectSound(...folders: string[]): Promise<void> {
  expect(await keyNames()).toEqual(['bot']);
  for (const folder of folders) {
    for (const name of readdirSync(folder)) {
      expect(name).toBe('bot.key');
      const value = readFileSync(join(folder, name), 'utf8').trim();
      expect(await scopesOf(value)).toEqual(['workspaces.list']);
    }
  }
}

/** Token, snapshot, lease, snapshot, create, proof, release. */
const steps = Array.from({ length: 7 }, (_, index) => index + 1);
const folders = ['shared', 'separate'] as const;

describe('two concurrent runs', () => {
  const stories = folders.flatMap((kind) =>
    steps.flatMap((k) =>
      (['dead', 'cut-before', 'cut-after', 'dies after'] as const).map(
        (fate) => [kind, fate, k] as const,
      ),
    ),
  );

  it.each(stories)(
    'converges with %s folders, the first %s at request %i',
    async (kind, fate, k) => {
      const first = runner(sync, sync.secretsFolder);
      const other = kind === 'shared' ? sync.secretsFolder : `${sync.secretsFolder}-other`;
      mkdirSync(other, { recursive: true });
      await using second = runner(sync, other);
      const fateOf = (index: number): Fate => {
        if (fate !== 'dies after') return index === k ? fate : 'pass';
        return index === k ? 'cut-after' : index > k ? 'dead' : 'pass';
      };
      const one = await first.run(fateOf);
      await endLeases(server);
      const two = await second.run(() => 'pass');
      await endLeases(server);
      await first.run(() => 'pass');
      const has = (folder: string): boolean => readdirSync(folder).includes('bot.key');
      await expectSound(first.folder, second.folder);
      expect(has(first.folder) || has(second.folder)).toBe(true);
      if (one === 'success') expect(has(first.folder)).toBe(true);
      expect(two === 'success').toBe(has(second.folder));
    },
  );

  it.each(folders)(
    'creates one key with %s folders, and success means that the file works',
    async (kind) => {
      for (let race = 0; race < 3; race += 1) {
        const other = kind === 'shared' ? sync.secretsFolder : `${sync.secretsFolder}-other`;
        mkdirSync(other, { recursive: true });
        const runners = [runner(sync, sync.secretsFolder), runner(sync, other)];
        const endings = await Promise.all(runners.map((one) => one.run(() => 'pass')));
        await expectSound(sync.secretsFolder, other);
        runners.forEach(({ folder }, index) => {
          expect(endings[index] === 'success').toBe(readdirSync(folder).includes('bot.key'));
        });
        expect(endings).toContain('success');
        await sync.cycle('');
        for (const folder of [sync.secretsFolder, other])
          rmSync(join(folder, 'bot.key'), { force: true });
        if (kind === 'separate') rmSync(other, { recursive: true });
      }
    },
  );

  it('rejects a run that sleeps through its lease, which keeps no dead value and asks to run again', async () => {
    const desired = await desiredFrom(bot);
    const slow = sync.openClient();
    const other = `${sync.secretsFolder}-other`;
    mkdirSync(other);
    const send = slow.request.bind(slow);
    slow.request = async (request) => {
      if (request.method === 'POST' && request.path.startsWith('/v1/api-keys')) {
        await endLeases(server);
        expect(await sync.cycle(bot)).toMatchObject({ ending: 'success' });
      }
      return await send(request);
    };
    const result = await sync.cycle(desired, { client: slow, secretsFolder: other });
    expect(result.ending).toBe('retryable');
    expect(readdirSync(other)).toEqual([]);
    await expectSound(sync.secretsFolder, other);
    rmSync(dirname(join(other, 'x')), { recursive: true });
  });
});
