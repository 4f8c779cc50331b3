/** Tests that key values reach a real Vault: never lost, never over foreign values, wherever a run dies. */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeApiKey } from '../../src/model/people/credentials.ts';
import type { CycleOptions, CycleResult } from '../../src/sync/cycle/cycle-options.ts';
import { resultDocument } from '../../src/sync/report/document.ts';
import { textReport } from '../../src/sync/report/text.ts';
import type { OpenSinks } from '../../src/sync/sinks/sink-set.ts';
import type { VaultGrant } from '../../src/sync/sinks/vault-grant.ts';
import { VaultSink } from '../../src/sync/sinks/vault-sink.ts';
import { readVaultValue } from '../../src/sync/sinks/vault-values.ts';
import { readSecret } from '../../src/vault/key-value.ts';
import { type VaultClient, VaultUnreachable } from '../../src/vault/vault-client.ts';
import type { VaultRequest, VaultResponse } from '../../src/vault/vault-exchange.ts';
import type { TestServer } from '../support/server/server.ts';
import { endAt, stepping } from '../support/sync/kill-points.ts';
import { endLeases } from '../support/sync/lease.ts';
import {
  desiredFrom,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../support/sync/sync-setup.ts';
import {
  type Exchange,
  expectedTranscript,
  readRecording,
  recordingFile,
  tellStory,
} from '../support/upstream/vault-scenario.ts';
import { keyManifest, opensApi } from './delivered-keys.ts';
import { startVault, unavailable, type VaultServer } from './vault-server.ts';

const paths = [
  { mount: 'secret', path: 'apps' },
  { mount: 'secret', path: 'jobs' },
];
const vaultOf = (path: string, key = 'api-key'): string =>
  `{vault: {mount: secret, path: ${path}, key: ${key}}}`;

const bot = keyManifest('bot', vaultOf('apps/bot'));

/** Grants exactly the rights that docs/reference/manifests.md asks for. */
const policy = paths
  .map(({ mount, path }) =>
    [
      `path "${mount}/data/${path}/*" { capabilities = ["create", "read", "update"] }`,
      `path "${mount}/metadata/${path}/*" { capabilities = ["create", "read", "update", "delete", "list"] }`,
      `path "${mount}/destroy/${path}/*" { capabilities = ["create", "update"] }`,
    ].join('\n'),
  )
  .join('\n');

describe.skipIf(unavailable !== null)(
  `keys in Vault${unavailable === null ? '' : ` (${unavailable})`}`,
  () => {
    let vault: VaultServer;
    let root: VaultClient;
    let server: TestServer;
    let sync: SyncSetup;
    let login: { readonly method: 'token'; readonly tokenFile: string };

    beforeAll(async () => {
      [vault, server] = await Promise.all([startVault(), startSyncServer()]);
      sync = openSync(server);
      root = vault.client();
      await post('sys/policies/acl/gatewright', { policy });
      const made = await post('auth/token/create', { policies: ['gatewright'], ttl: '1h' });
      const { auth } = made.body as { auth: { client_token: string } };
      login = { method: 'token', tokenFile: vault.file('token', auth.client_token) };
    });
    afterAll(async () => {
      await sync?.[Symbol.asyncDispose]();
      await server?.[Symbol.asyncDispose]();
      await vault?.[Symbol.asyncDispose]();
    });

    async function post(path: string, body: unknown): Promise<VaultResponse> {
      const answer = await root.request({ method: 'POST', path, body });
      if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer)}`);
      return answer;
    }

    const grantOf = (client: VaultClient): VaultGrant => ({ connect: async () => client, paths });
    const sinksOf =
      (client: VaultClient = vault.client(login)): OpenSinks =>
      (owner) => ({ vault: new VaultSink(grantOf(client), owner) });

    const cycle = (files: string, options: Partial<CycleOptions> = {}): Promise<CycleResult> =>
      sync.cycle(files, { openSinks: sinksOf(), ...options });

    async function names(folder: string): Promise<string[]> {
      const query = { list: 'true' };
      const path = `secret/metadata/${folder}`;
      const { status, body } = await root.request({ method: 'GET', path, query });
      if (status === 404) return [];
      const { keys } = (body as { data: { keys: string[] } }).data;
      const below = keys.map(async (name) =>
        name.endsWith('/') ? await names(`${folder}${name}`) : [`${folder}${name}`],
      );
      return (await Promise.all(below)).flat();
    }

    const everywhere = async (): Promise<string[]> => [
      ...(await names('apps/')),
      ...(await names('jobs/')),
    ];

    /** Values by `path#key`, without bookkeeping entries. */
    async function values(): Promise<Record<string, string>> {
      const found: Record<string, string> = {};
      for (const path of await everywhere()) {
        if (path.includes('/placed-')) continue;
        const { data = {} } = (await readSecret(root, { mount: 'secret', path })) ?? {};
        const isWork = path.includes('/.gatewright/');
        for (const [name, value] of Object.entries(data)) {
          if (!isWork || name === 'value') found[`${path}#${name}`] = String(value);
        }
      }
      return found;
    }

    const opens = (value: string | undefined): Promise<boolean> => opensApi(server, value);

    /** Removes all keys, leases and secrets, and starts a new minute, in which wrong keys may be tried again. */
    async function clearAway(): Promise<void> {
      server.clock.advance(60_000);
      await endLeases(server);
      expect(await cycle('')).toMatchObject({ ending: 'success' });
      for (const path of await everywhere()) {
        await root.request({ method: 'DELETE', path: `secret/metadata/${path}` });
      }
    }

    it('holds a working value and the name of its owner, and no output contains the value', async () => {
      const result = await cycle(bot);
      expect(result).toMatchObject({ ending: 'success', deliveries: [{ state: 'delivered' }] });
      const secret = await readSecret(root, { mount: 'secret', path: 'apps/bot' });
      expect(secret?.customMetadata).toEqual({
        'gatewright-owner': `${server.organisationId}/platform`,
      });
      expect(Object.keys(secret!.data)).toEqual(['api-key']);
      const value = (await values())['apps/bot#api-key']!;
      expect(Object.keys(await values())).toEqual(['apps/bot#api-key']);
      expect(await opens(value)).toBe(true);
      const outputs = [textReport(result), JSON.stringify([resultDocument(result), result])];
      expect(outputs.join()).not.toContain(value);
      await clearAway();
    });

    it('destroys all versions that contain a replaced value', async () => {
      await cycle(bot + keyManifest('other', vaultOf('apps/bot', 'other')));
      await cycle(keyManifest('other', vaultOf('apps/bot', 'other')));
      const { body } = await root.request({ method: 'GET', path: 'secret/metadata/apps/bot' });
      const { versions, current_version } = (
        body as {
          data: { versions: Record<string, { destroyed: boolean }>; current_version: number };
        }
      ).data;
      const readable = Object.entries(versions).filter(([, { destroyed }]) => !destroyed);
      expect(readable.map(([number]) => Number(number))).toEqual([current_version]);
      expect(Object.keys(await values())).toEqual(['apps/bot#other']);
      await cycle('');
      expect(await everywhere()).toEqual([]);
      await clearAway();
    });

    it('keeps the values that other tools have added', async () => {
      await cycle(bot);
      const { data, version } = (await readSecret(root, { mount: 'secret', path: 'apps/bot' }))!;
      await post('secret/data/apps/bot', {
        options: { cas: version },
        data: { ...data, note: 'theirs' },
      });
      await cycle(keyManifest('bot', vaultOf('apps/bot'), ', rotation: {generation: 2}'));
      expect(await values()).toMatchObject({ 'apps/bot#note': 'theirs' });
      await cycle('');
      expect(await values()).toEqual({ 'apps/bot#note': 'theirs' });
      await clearAway();
    });

    it('never writes a secret of another owner, and does not create the key', async () => {
      await post('secret/data/apps/bot', { data: { 'api-key': 'theirs' } });
      const result = await cycle(bot + keyManifest('other', vaultOf('apps/other')));
      expect(result).toMatchObject({ ending: 'partialFailure' });
      const [failed] = result.report!.items.filter(({ status }) => status === 'failed');
      expect(failed!.message).toContain('was not made by gatewright');
      expect(await values()).toMatchObject({ 'apps/bot#api-key': 'theirs' });
      expect(await opens((await values())['apps/other#api-key'])).toBe(true);
      const { body } = await server.request('GET', '/v2/api-keys?page_size=100');
      expect(body.data.map(({ name }: { name: string }) => name)).not.toContain('bot');
      await clearAway();

      await cycle(bot);
      const client = sync.openClient({ owner: 'team-b' });
      const taken = await cycle(keyManifest('theirs', vaultOf('apps/bot', 'their-key')), {
        client,
      });
      expect(taken.report!.items[0]!.message).toContain(
        `belongs to ${server.organisationId}/platform`,
      );
      expect(Object.keys(await values())).toEqual(['apps/bot#api-key']);
      await cycle('', { client });
      await clearAway();
    });

    it('gives a secret to one of two owners that claim it at once', async () => {
      const [desired] = (await desiredFrom(bot)).resources;
      for (let round = 0; round < 30; round += 1) {
        const owners = ['a', 'b'].map((owner) => {
          const { vault: sink } = sinksOf()({ organisationId: `round-${round}`, owner });
          return { owner, sink: sink! };
        });
        const ends = await Promise.all(
          owners.map(async ({ owner, sink }) => {
            const value = makeApiKey('');
            const isIts = await sink
              .writePending(desired!, 1, value)
              .then((pending) => sink.publish(desired!, pending, null))
              .then(
                () => true,
                () => false,
              );
            return { owner, isIts, value };
          }),
        );
        const [won, ...more] = ends.filter(({ isIts }) => isIts);
        expect([round, more]).toEqual([round, []]);
        const secret = await readSecret(root, { mount: 'secret', path: 'apps/bot' });
        expect(secret).toMatchObject({
          data: { 'api-key': won!.value },
          customMetadata: { 'gatewright-owner': `round-${round}/${won!.owner}` },
        });
        for (const path of await everywhere()) {
          await root.request({ method: 'DELETE', path: `secret/metadata/${path}` });
        }
      }
    });

    it.each([
      ['that no setting names', 'closed/bad', 'is not below GATEWRIGHT_VAULT_PATHS'],
      ['that the policy does not permit', 'forbidden/bad', 'permission denied'],
    ])('reports a key at a path %s, and syncs the others', async (_, path, words) => {
      const client = vault.client(login);
      const granted = [...paths, { mount: 'secret', path: 'forbidden' }];
      const openSinks: OpenSinks = (owner) => ({
        vault: new VaultSink({ connect: async () => client, paths: granted }, owner),
      });
      const files =
        keyManifest('bad', vaultOf(path)) + keyManifest('local', '{file: {path: local.key}}');
      const result = await cycle(files, { openSinks });
      expect(result.ending).toBe('partialFailure');
      expect(result.report!.items.map(({ id, message }) => [id, message])).toEqual([
        ['ApiKey/bad', expect.stringContaining(words)],
        ['ApiKey/local', null],
      ]);
      await clearAway();
    });

    it('waits while Vault is sealed, with one warning, and writes files', async () => {
      const files =
        bot +
        keyManifest('more', vaultOf('apps/more')) +
        keyManifest('local', '{file: {path: b.key}}');
      await cycle(bot);
      const before = await values();
      await vault.seal();
      const result = await cycle(files);
      expect(result.ending).toBe('partialFailure');
      const words = `Vault at ${vault.address.origin} is out of reach: it is sealed`;
      expect(result.warnings.filter((warning) => warning.includes(words))).toHaveLength(1);
      expect(result.report!.items.map(({ id, status }) => [id, status])).toEqual([
        ['ApiKey/local', 'done'],
        ['ApiKey/more', 'failed'],
      ]);
      await vault.unseal();
      await endLeases(server);
      expect(await cycle(files)).toMatchObject({ ending: 'success' });
      const after = await values();
      expect(after['apps/bot#api-key']).toBe(before['apps/bot#api-key']);
      expect(await opens(after['apps/more#api-key'])).toBe(true);
      await clearAway();
    });

    interface Story {
      readonly before: string;
      readonly after: string;
      /** Where the value is stored in the end; null for nowhere. */
      readonly place: string | null;
      readonly keepsValue: boolean;
    }
    const stories: Readonly<Record<string, Story>> = {
      'a create': { before: '', after: bot, place: 'apps/bot#api-key', keepsValue: false },
      'a rotation': {
        before: bot,
        after: keyManifest('bot', vaultOf('apps/bot'), ', rotation: {generation: 2}'),
        place: 'apps/bot#api-key',
        keepsValue: false,
      },
      'a deletion': { before: bot, after: '', place: null, keepsValue: false },
      'a move from a file': {
        before: keyManifest('bot', '{file: {path: bot.key}}'),
        after: bot,
        place: 'apps/bot#api-key',
        keepsValue: true,
      },
      'a move to another secret': {
        before: bot,
        after: keyManifest('bot', vaultOf('jobs/bot', 'other')),
        place: 'jobs/bot#other',
        keepsValue: true,
      },
      'a rename with a new place': {
        before: bot,
        after: keyManifest('robot', vaultOf('apps/robot'), '', ', previousNames: [bot]'),
        place: 'apps/robot#api-key',
        keepsValue: true,
      },
    };

    interface Stage {
      readonly value: string | undefined;
      readonly made: number;
    }

    async function keysMade(): Promise<number> {
      const rows = server.database.db
        .selectFrom('audit_log')
        .select('id')
        .where('resource_kind', '=', 'ApiKey')
        .where('action', '=', 'create');
      return (await rows.execute()).length;
    }

    async function setUp({ before }: Story): Promise<Stage> {
      await clearAway();
      expect(await cycle(before)).toMatchObject({ ending: 'success' });
      return { value: (await values())['apps/bot#api-key'], made: await keysMade() };
    }

    /** Asserts the end state after the next run, wherever the previous run died. */
    async function finish(story: Story, { value, made }: Stage): Promise<void> {
      server.clock.advance(60_000);
      await endLeases(server);
      expect(await cycle(story.after)).toMatchObject({ ending: 'success' });
      const stored = await values();
      expect((await keysMade()) - made).toBe(story.before === '' ? 1 : 0);
      if (story.place === null) {
        expect(stored).toEqual({});
        expect(await opens(value)).toBe(false);
        return;
      }
      const now = stored[story.place];
      expect(await opens(now)).toBe(true);
      if (story.keepsValue && value !== undefined) expect(now).toBe(value);
      // A run that dies while it moves a value may leave it in both places; a value without a key is kept aside.
      for (const [name, one] of Object.entries(stored)) {
        const isLeft = one === now || (name.includes('/kept-') && !(await opens(one)));
        expect([name, isLeft]).toEqual([name, true]);
      }
    }

    const cases = Object.entries(stories).map(([name, story]) => [name, story] as const);

    it.each(cases)('%s completes whatever request the run dies at', async (_, story) => {
      let outcome = 'dead';
      for (let k = 1; outcome === 'dead'; k += 1) {
        const stage = await setUp(story);
        const client = stepping(sync.openClient());
        const openSinks = sinksOf(stepping(vault.client(login)));
        const result = await endAt(k, () => cycle(story.after, { client, openSinks }));
        outcome = result === 'dead' ? 'dead' : result.ending;
        await finish(story, stage).catch((error: Error) => {
          throw new Error(`after a death at step ${k}: ${error.message}`, { cause: error });
        });
      }
      expect(outcome).toBe('success');
    });

    it.each(cases)('%s completes whatever response of Vault is lost', async (_, story) => {
      let isLost = true;
      for (let k = 1; isLost; k += 1) {
        const stage = await setUp(story);
        const client = vault.client(login);
        let writes = 0;
        isLost = false;
        const send = client.request.bind(client);
        client.request = async (request) => {
          const answer = await send(request);
          if (request.method === 'GET') return answer;
          writes += 1;
          if (writes !== k) return answer;
          isLost = true;
          throw new VaultUnreachable('the answer was lost');
        };
        await cycle(story.after, { openSinks: sinksOf(client) });
        await finish(story, stage).catch((error: Error) => {
          throw new Error(`after answer ${k} was lost: ${error.message}`, { cause: error });
        });
      }
    });

    describe('a value that a manifest reads', () => {
      const place = { mount: 'secret', path: 'apps/crm', key: 'token' };

      it('resolves from Vault, and to undefined when missing', async () => {
        await post('secret/data/apps/crm', { data: { token: 'crm-canary', pin: 7 } });
        const grant = grantOf(vault.client(login));
        const found = await readVaultValue(grant, place);
        expect(String(found)).toBe('(secret vault:secret/apps/crm#token)');
        expect((found as { reveal(): string }).reveal()).toBe('crm-canary');
        expect(await readVaultValue(grant, { ...place, key: 'other' })).toBeUndefined();
        expect(await readVaultValue(grant, { ...place, path: 'apps/none' })).toBeUndefined();
        const pin = await readVaultValue(grant, { ...place, key: 'pin' });
        expect(pin).toMatchObject({ message: 'the key pin of secret/apps/crm is no text' });
        const outside = await readVaultValue(grant, { ...place, path: 'else/crm' });
        expect(outside).toMatchObject({
          message: expect.stringContaining('GATEWRIGHT_VAULT_PATHS'),
        });
        const mountless = { connect: grant.connect, paths: [{ mount: 'none', path: '' }] };
        expect(await readVaultValue(mountless, { ...place, mount: 'none' })).toMatchObject({
          code: 'secret-refused',
        });
        await clearAway();
      });
    });

    describe('a login', () => {
      const place = { mount: 'secret', path: 'apps/crm', key: 'token' };
      const reads = async (client: VaultClient): Promise<unknown> =>
        await readVaultValue(grantOf(client), place);

      beforeAll(async () => {
        await post('secret/data/apps/crm', { data: { token: 'crm-canary' } });
      });

      it('happens once for concurrent requests of an AppRole, and again after a revocation', async () => {
        await post('sys/auth/approle', { type: 'approle' });
        await post('auth/approle/role/gatewright', {
          token_policies: 'gatewright',
          token_ttl: '1h',
        });
        const id = await root.request({
          method: 'GET',
          path: 'auth/approle/role/gatewright/role-id',
        });
        const secret = await post('auth/approle/role/gatewright/secret-id', {});
        const { role_id: roleId } = (id.body as { data: { role_id: string } }).data;
        const { secret_id } = (secret.body as { data: { secret_id: string } }).data;
        const secretIdFile = vault.file('secret-id', secret_id);
        const client = vault.client({ method: 'appRole', mount: 'approle', roleId, secretIdFile });
        const all = await Promise.all(Array.from({ length: 5 }, () => reads(client)));
        expect(all.map(String)).toEqual(all.map(() => '(secret vault:secret/apps/crm#token)'));
        const bad = vault.file('bad-secret-id', 'no-such-secret-id');
        const refused = vault.client({
          method: 'appRole',
          mount: 'approle',
          roleId,
          secretIdFile: bad,
        });
        const result = JSON.stringify(await reads(refused));
        expect(result).toContain('does not accept the sign-in at auth/approle');
        expect(result).not.toContain('no-such-secret-id');
      });

      it('reads a token file again when it changes', async () => {
        const made = await post('auth/token/create', { policies: ['gatewright'] });
        const { client_token } = (made.body as { auth: { client_token: string } }).auth;
        const tokenFile = vault.file('agent-token', client_token);
        const client = vault.client({ method: 'token', tokenFile });
        expect(String(await reads(client))).toContain('apps/crm#token');
        await post('auth/token/revoke', { token: client_token });
        expect(await reads(client)).toMatchObject({ message: expect.stringContaining('403') });
        const next = await post('auth/token/create', { policies: ['gatewright'] });
        vault.file(
          'agent-token',
          (next.body as { auth: { client_token: string } }).auth.client_token,
        );
        expect(String(await reads(client))).toContain('apps/crm#token');
      });

      it('rejects a server with a certificate of another authority', async () => {
        const client = vault.client(login, { caFile: null });
        expect(await reads(client)).toMatchObject({ code: 'secret-unreachable' });
      });
    });

    it('matches the recording that npm test uses', async () => {
      const client = vault.client();
      const exchanges: Exchange[] = [];
      const send = client.request.bind(client);
      client.request = async (request: VaultRequest) => {
        const answer = await send(request);
        exchanges.push(JSON.parse(JSON.stringify({ request, answer: steady(answer) })));
        return answer;
      };
      expect(await tellStory(client)).toEqual(expectedTranscript);
      if (process.env.GATEWRIGHT_TEST_RECORD === 'ON') {
        writeFileSync(recordingFile, `${JSON.stringify(exchanges, null, 2)}\n`);
      }
      expect(readRecording()).toEqual(exchanges);
    });

    /** Removes fields that differ in each run. */
    function steady({ status, body }: VaultResponse): VaultResponse {
      const text = JSON.stringify(body, (name, value) =>
        name === 'request_id' || name.endsWith('_time') ? '' : value,
      );
      return { status, body: JSON.parse(text ?? 'null') };
    }
  },
);
