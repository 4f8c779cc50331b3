/** Tests that key values reach Secrets of a real Kubernetes: never lost, never over foreign values, wherever a run dies. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RequestContext } from '@kubernetes/client-node/dist/gen/http/http.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeClient } from '../../src/kube/kube-client.ts';
import { KubeUnreachable } from '../../src/kube/kube-errors.ts';
import type { KubeObject } from '../../src/kube/kube-objects.ts';
import { makeApiKey } from '../../src/model/people/credentials.ts';
import type { CycleOptions, CycleResult } from '../../src/sync/cycle/cycle-options.ts';
import { resultDocument } from '../../src/sync/report/document.ts';
import { textReport } from '../../src/sync/report/text.ts';
import { KubernetesSink } from '../../src/sync/sinks/kubernetes-sink.ts';
import type { OpenSinks } from '../../src/sync/sinks/sink-set.ts';
import type { TestServer } from '../support/server/server.ts';
import { endAt, stepping, stepsOfChange } from '../support/sync/kill-points.ts';
import { endLeases } from '../support/sync/lease.ts';
import { leftState } from '../support/sync/remaining-state.ts';
import {
  desiredFrom,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../support/sync/sync-setup.ts';
import { keyManifest, opensApi } from './delivered-keys.ts';
import { type KubernetesApi, startKubernetesApi, unavailable } from './kubernetes-api.ts';

const namespaces = ['apps', 'jobs'];

const secretOf = (name: string, key = 'api-key', namespace = 'apps'): string =>
  `{kubernetesSecret: {namespace: ${namespace}, name: ${name}, key: ${key}}}`;
const fileOf = (path: string): string => `{file: {path: ${path}}}`;

const bot = keyManifest('bot', secretOf('bot'));

describe.skipIf(unavailable !== null)(
  `keys in Secrets${unavailable === null ? '' : ` (${unavailable})`}`,
  () => {
    let api: KubernetesApi;
    let server: TestServer;
    let sync: SyncSetup;

    beforeAll(async () => {
      [api, server] = await Promise.all([startKubernetesApi(), startSyncServer()]);
      sync = openSync(server);
      for (const name of [...namespaces, 'closed', 'forbidden']) {
        await create('/api/v1/namespaces', {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name },
        });
      }
      for (const namespace of namespaces) await permit(namespace);
    });
    afterAll(async () => {
      await sync?.[Symbol.asyncDispose]();
      await server?.[Symbol.asyncDispose]();
      await api?.[Symbol.asyncDispose]();
    });

    const create = (path: string, body: unknown): Promise<unknown> =>
      api.request({ method: 'POST', path, body });

    /** Grants exactly the rights that the documentation asks for. */
    async function permit(namespace: string): Promise<void> {
      const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
      const [apiVersion, metadata] = ['rbac.authorization.k8s.io/v1', { name: 'gatewright' }];
      const verbs = ['get', 'list', 'create', 'patch', 'delete'];
      const rules = [
        { apiGroups: [''], resources: ['secrets'], verbs },
        { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
      ];
      await create(`${path}/roles`, { apiVersion, kind: 'Role', metadata, rules });
      const subjects = [
        { kind: 'User', name: 'gatewright', apiGroup: 'rbac.authorization.k8s.io' },
      ];
      const roleRef = { kind: 'Role', name: 'gatewright', apiGroup: 'rbac.authorization.k8s.io' };
      const binding = { apiVersion, kind: 'RoleBinding', metadata, subjects, roleRef };
      await create(`${path}/rolebindings`, binding);
    }

    const sinksOf =
      (client: KubeClient = api.client('gatewright'), granted = namespaces): OpenSinks =>
      (owner) => ({
        kubernetesSecret: new KubernetesSink(
          { namespaces: granted, connect: async () => client },
          owner,
        ),
      });

    const cycle = (files: string, options: Partial<CycleOptions> = {}): Promise<CycleResult> =>
      sync.cycle(files, { openSinks: sinksOf(), ...options });

    async function secrets(namespace = 'apps'): Promise<KubeObject[]> {
      const path = `/api/v1/namespaces/${namespace}/secrets`;
      return (await api.request<{ items: KubeObject[] }>({ method: 'GET', path })).items;
    }

    /** Values by `name/key`. */
    async function values(namespace = 'apps'): Promise<Record<string, string>> {
      const entries = (await secrets(namespace)).flatMap(({ metadata, data = {} }) =>
        Object.entries(data).map(([name, value]) => [
          `${metadata.name}/${name}`,
          Buffer.from(value, 'base64').toString(),
        ]),
      );
      return Object.fromEntries(entries);
    }

    const opens = (value: string | undefined): Promise<boolean> => opensApi(server, value);

    /** Removes all keys, leases and Secrets, and starts a new minute, in which wrong keys may be tried again. */
    async function clearAway(): Promise<void> {
      server.clock.advance(60_000);
      await endLeases(server);
      expect(await cycle('')).toMatchObject({ ending: 'success' });
      for (const namespace of namespaces) {
        for (const { metadata } of await secrets(namespace)) {
          const path = `/api/v1/namespaces/${namespace}/secrets/${metadata.name}`;
          await api.request({ method: 'DELETE', path });
        }
      }
    }

    it('holds a working value and the name of its owner, and leaves no other Secret', async () => {
      const result = await cycle(bot);
      expect(result).toMatchObject({ ending: 'success', deliveries: [{ state: 'delivered' }] });
      const [secret, ...others] = await secrets();
      expect(others).toEqual([]);
      expect(secret).toMatchObject({
        metadata: {
          name: 'bot',
          labels: { 'app.kubernetes.io/managed-by': 'gatewright' },
          annotations: { 'gatewright.dev/owner': `${server.organisationId}/platform` },
        },
        type: 'Opaque',
      });
      const { managedFields } = secret!.metadata as unknown as {
        managedFields: { manager: string; operation: string; fieldsV1: object }[];
      };
      expect(managedFields.find(({ operation }) => operation === 'Apply')).toMatchObject({
        manager: 'gatewright/api-key',
        fieldsV1: { 'f:data': { 'f:api-key': {} } },
      });
      const value = (await values())['bot/api-key'];
      expect(await opens(value)).toBe(true);
      const outputs = [
        textReport(result),
        JSON.stringify(resultDocument(result)),
        JSON.stringify(result),
      ];
      expect(outputs.join()).not.toContain(value);
      await clearAway();
    });

    it('costs a run without changes one request for each namespace', async () => {
      await cycle(bot + keyManifest('other', secretOf('other')));
      const client = api.client('gatewright');
      const requests: string[] = [];
      const send = client.http.send.bind(client.http);
      client.http.send = async (context) => {
        requests.push(`${context.getHttpMethod()} ${new URL(context.getUrl()).pathname}`);
        return await send(context);
      };
      const result = await cycle(bot + keyManifest('other', secretOf('other')), {
        openSinks: sinksOf(client),
      });
      expect(result).toMatchObject({ ending: 'success', report: null });
      const look = (namespace: string): string => `GET /api/v1/namespaces/${namespace}/secrets`;
      expect(requests.toSorted()).toEqual([look('apps'), look('apps'), look('jobs')]);
      await clearAway();
    });

    it('shares a Secret between several keys, and deletes it with the last', async () => {
      const other = keyManifest('other', secretOf('bot', 'OTHER_KEY'));
      await cycle(bot + other);
      const both = await values();
      expect(Object.keys(both).toSorted()).toEqual(['bot/OTHER_KEY', 'bot/api-key']);
      expect([await opens(both['bot/OTHER_KEY']), await opens(both['bot/api-key'])]).toEqual([
        true,
        true,
      ]);
      expect(await cycle(other)).toMatchObject({ ending: 'success' });
      expect(await values()).toEqual({ 'bot/OTHER_KEY': both['bot/OTHER_KEY'] });
      await clearAway();
      expect(await secrets()).toEqual([]);
    });

    it('keeps the values that other tools have added', async () => {
      await cycle(bot);
      await api.request({
        method: 'PATCH',
        path: '/api/v1/namespaces/apps/secrets/bot',
        contentType: 'application/merge-patch+json',
        body: { data: { note: Buffer.from('theirs').toString('base64') } },
      });
      await cycle(keyManifest('bot', secretOf('bot'), ', rotation: {generation: 2}'));
      expect(await values()).toMatchObject({ 'bot/note': 'theirs' });
      await cycle('');
      expect(await values()).toEqual({ 'bot/note': 'theirs' });
      await clearAway();
    });

    it('never writes a Secret of another owner, and does not create the key', async () => {
      const data = { 'api-key': Buffer.from('theirs').toString('base64') };
      const metadata = { name: 'bot' };
      const path = '/api/v1/namespaces/apps/secrets';
      await create(path, { apiVersion: 'v1', kind: 'Secret', metadata, data });
      const result = await cycle(bot + keyManifest('other', secretOf('other')));
      expect(result).toMatchObject({ ending: 'partialFailure' });
      const [failed] = result.report!.items.filter(({ status }) => status === 'failed');
      expect(failed!.message).toContain('was not made by gatewright');
      expect(await values()).toMatchObject({ 'bot/api-key': 'theirs' });
      expect(await opens((await values())['other/api-key'])).toBe(true);
      const { body } = await server.request('GET', '/v2/api-keys?page_size=100');
      expect(body.data.map(({ name }: { name: string }) => name)).not.toContain('bot');
      await clearAway();

      await cycle(bot);
      const client = sync.openClient({ owner: 'team-b' });
      const taken = await cycle(keyManifest('theirs', secretOf('bot', 'their-key')), { client });
      expect(taken.report!.items[0]!.message).toContain(
        `belongs to ${server.organisationId}/platform`,
      );
      expect(Object.keys(await values())).toEqual(['bot/api-key']);
      await cycle('', { client });
      await clearAway();
    });

    it('gives a Secret to one of two owners that claim it at once', async () => {
      const [desired] = (await desiredFrom(bot)).resources;
      for (let round = 0; round < 30; round += 1) {
        const owners = ['a', 'b'].map((owner) => {
          const { kubernetesSecret } = sinksOf()({ organisationId: `round-${round}`, owner });
          return { owner, sink: kubernetesSecret! };
        });
        const ends = await Promise.all(
          owners.map(async ({ owner, sink }) => {
            // An owner that comes second is refused before anything is written.
            const pending = await sink
              .writePending(desired!, 1, makeApiKey(''))
              .catch((error: unknown) => {
                expect(error).toMatchObject({ kind: 'refusedByGuard' });
                return null;
              });
            const isIts =
              pending !== null &&
              (await sink.publish(desired!, pending, null).then(
                () => true,
                () => false,
              ));
            return { owner, isIts, pending };
          }),
        );
        const [won, ...more] = ends.filter(({ isIts }) => isIts);
        expect([round, more]).toEqual([round, []]);
        const stored = await values();
        expect(stored['bot/api-key']).toBe(won!.pending!.value.reveal());
        const [secret] = (await secrets()).filter(({ metadata }) => metadata.name === 'bot');
        expect(secret!.metadata.annotations!['gatewright.dev/owner']).toBe(
          `round-${round}/${won!.owner}`,
        );
        await clearAway();
      }
    });

    it.each([
      ['that no setting names', 'closed', 'is not in GATEWRIGHT_KUBERNETES_NAMESPACES'],
      ['that the cluster does not permit', 'forbidden', 'cannot list resource \\"secrets\\"'],
    ])('reports a key in a namespace %s, and syncs the others', async (_, namespace, words) => {
      const granted = [...namespaces, 'forbidden'];
      const files = keyManifest('bad', secretOf('bad', 'k', namespace)) + bot;
      const client = api.client('gatewright');
      const result = await cycle(files, { openSinks: sinksOf(client, granted) });
      expect(result.ending).toBe('partialFailure');
      const messages = result.report!.items.map(({ id, message }) => [id, message]);
      expect(messages).toEqual([
        ['ApiKey/bad', expect.stringContaining(JSON.parse(`"${words}"`))],
        ['ApiKey/bot', null],
      ]);
      expect(await opens((await values())['bot/api-key'])).toBe(true);
      await clearAway();
    });

    it('waits while the API is unreachable, with one warning, and writes files', async () => {
      const existing = bot + keyManifest('twin', secretOf('twin'));
      const files =
        existing +
        keyManifest('more', secretOf('more')) +
        keyManifest('local', fileOf('local.key'));
      await cycle(existing);
      const before = await values();
      await api.stop();
      const result = await cycle(files);
      expect(result.ending).toBe('partialFailure');
      const words = `Kubernetes at ${api.url} is out of reach`;
      expect(result.warnings.filter((warning) => warning.includes(words))).toHaveLength(1);
      expect(result.report!.items.map(({ id, status }) => [id, status])).toEqual([
        ['ApiKey/local', 'done'],
        ['ApiKey/more', 'failed'],
      ]);
      expect(existsSync(join(sync.secretsFolder, 'local.key'))).toBe(true);
      await api.start();
      await endLeases(server);
      expect(await cycle(files)).toMatchObject({ ending: 'success' });
      const after = await values();
      expect(after['bot/api-key']).toBe(before['bot/api-key']);
      expect(await opens(after['more/api-key'])).toBe(true);
      await clearAway();
    });

    interface Story {
      readonly before: string;
      readonly after: string;
      /** Where the value is stored in the end. */
      readonly place: { readonly secret: string } | { readonly file: string } | null;
      readonly keepsValue: boolean;
    }
    const stories: Readonly<Record<string, Story>> = {
      'a create': { before: '', after: bot, place: { secret: 'bot/api-key' }, keepsValue: false },
      'a replacement': {
        before: bot,
        after: keyManifest(
          'bot',
          secretOf('bot'),
          ', subType: user, userId: 0197c2a5-6f5e-7c3a-9d5e-1f2a3b4c5d6e',
        ),
        place: { secret: 'bot/api-key' },
        keepsValue: false,
      },
      'a rotation': {
        before: bot,
        after: keyManifest('bot', secretOf('bot'), ', rotation: {generation: 2}'),
        place: { secret: 'bot/api-key' },
        keepsValue: false,
      },
      'a deletion': { before: bot, after: '', place: null, keepsValue: false },
      'a move from a file': {
        before: keyManifest('bot', fileOf('bot.key')),
        after: bot,
        place: { secret: 'bot/api-key' },
        keepsValue: true,
      },
      'a move to a file': {
        before: bot,
        after: keyManifest('bot', fileOf('bot.key')),
        place: { file: 'bot.key' },
        keepsValue: true,
      },
      'a move to another Secret': {
        before: bot,
        after: keyManifest('bot', secretOf('bot-2', 'other')),
        place: { secret: 'bot-2/other' },
        keepsValue: true,
      },
      'a rename with a new place': {
        before: bot,
        after: keyManifest('robot', secretOf('robot'), '', ', previousNames: [bot]'),
        place: { secret: 'robot/api-key' },
        keepsValue: true,
      },
    };

    const fileValue = (path: string): string | undefined => {
      const file = join(sync.secretsFolder, path);
      return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
    };

    async function keysMade(): Promise<number> {
      const rows = server.database.db
        .selectFrom('audit_log')
        .select('id')
        .where('resource_kind', '=', 'ApiKey')
        .where('action', '=', 'create');
      return (await rows.execute()).length;
    }

    async function setUp({ before }: Story): Promise<{ value: string | undefined; made: number }> {
      await clearAway();
      expect(await cycle(before)).toMatchObject({ ending: 'success' });
      const value = (await values())['bot/api-key'] ?? fileValue('bot.key');
      return { value, made: await keysMade() };
    }

    /** Asserts the end state after the next run, wherever the previous run died. */
    async function finish(
      story: Story,
      { value, made }: { readonly value: string | undefined; readonly made: number },
    ): Promise<void> {
      server.clock.advance(60_000);
      await endLeases(server);
      const result = await cycle(story.after);
      expect(result).toMatchObject({ ending: 'success' });
      const stored = { ...(await values()), ...(await values('jobs')) };
      const mints = story.after === bot || story.after.includes('userId');
      expect((await keysMade()) - made).toBe(mints && !story.keepsValue ? 1 : 0);
      if (story.place === null) {
        expect(stored).toEqual({});
        expect(await opens(value)).toBe(false);
        return;
      }
      const now = 'file' in story.place ? fileValue(story.place.file) : stored[story.place.secret];
      expect(await opens(now)).toBe(true);
      if (story.keepsValue) expect(now).toBe(value);
      // A run that dies while it moves a value may leave it in both places; a value without a key is kept aside.
      for (const [name, one] of Object.entries(stored)) {
        const isLeft = one === now || (name.startsWith('gatewright-kept-') && !(await opens(one)));
        expect([name, isLeft]).toEqual([name, true]);
      }
    }

    const cases = Object.entries(stories).map(([name, story]) => [name, story] as const);

    /** The whole state that a later run finds. */
    async function stateSince(made: number): Promise<string> {
      const stored = JSON.stringify(Object.entries(await values()).toSorted());
      return `${(await keysMade()) - made} ${stored} ${await leftState(server, sync.secretsFolder)}`;
    }

    it.each(cases)('%s completes whatever request the run dies at', async (_, story) => {
      const run = (): Promise<CycleResult> =>
        cycle(story.after, {
          client: stepping(sync.openClient()),
          openSinks: sinksOf(steppingCluster(api.client('gatewright'))),
        });
      const whole = await setUp(story);
      const { result, steps, ofChange } = await stepsOfChange(run, () => stateSince(whole.made));
      expect(result.ending).toBe('success');
      expect(steps).toBeGreaterThan(10);
      for (const k of ofChange) {
        const stage = await setUp(story);
        const ended = await endAt(k, run);
        if (ended !== 'dead') expect(ended.ending).toBe('success');
        await finish(story, stage).catch((error: Error) => {
          throw new Error(`after a death at step ${k}: ${error.message}`, { cause: error });
        });
      }
    });

    it.each(cases)('%s completes whatever response of Kubernetes is lost', async (_, story) => {
      let seen = 1;
      for (let k = 1; k <= seen; k += 1) {
        const stage = await setUp(story);
        const client = api.client('gatewright');
        const send = client.http.send.bind(client.http);
        seen = 0;
        client.http.send = async (context) => {
          const response = await send(context);
          // Reads are retried, which test/unit/kube/kube-client.test.ts covers.
          if (context.getHttpMethod() === 'GET') return response;
          seen += 1;
          if (seen === k) throw new KubeUnreachable('lost by plan');
          return response;
        };
        const { ending } = await cycle(story.after, { openSinks: sinksOf(client) });
        expect([k, ending]).toEqual([k, 'success']);
        await finish(story, stage).catch((error: Error) => {
          throw new Error(`after response ${k} was lost: ${error.message}`, { cause: error });
        });
      }
    });

    it('creates one key in two runs at once', async () => {
      await clearAway();
      const made = await keysMade();
      const runs = [1, 2].map(() => cycle(bot, { client: sync.openClient() }));
      const endings = (await Promise.all(runs)).map(({ ending }) => ending);
      expect(endings).toContain('success');
      expect((await keysMade()) - made).toBe(1);
      expect(await cycle(bot)).toMatchObject({ ending: 'success' });
      expect(await opens((await values())['bot/api-key'])).toBe(true);
      await clearAway();
    });
  },
);

/** Makes each request of the client a step at which a run can die. */
function steppingCluster(client: KubeClient): KubeClient {
  const send = client.http.send.bind(client.http);
  const steps = stepping({ request: (context: RequestContext) => send(context) });
  client.http.send = (context) => steps.request(context);
  return client;
}
