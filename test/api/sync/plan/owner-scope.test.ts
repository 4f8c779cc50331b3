/**
 * Verifies that the snapshot of an owner is limited to what it needs, with the same plans as a full
 * snapshot.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Snapshot } from '../../../../src/model/kinds/snapshot.ts';
import { planDocument } from '../../../../src/sync/report/document.ts';
import { Transport } from '../../../../src/sync/server/transport.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { openSync, type SyncSetup, startSyncServer } from '../../../support/sync/sync-setup.ts';

const manifest = (kind: string, metadata: string, spec: string): string =>
  `apiVersion: gatewright.dev/v1\nkind: ${kind}\nmetadata: {${metadata}}\nspec: ${spec}\n`;
const config = (name: string, attempts = 3): string =>
  manifest('Config', `name: ${name}`, `{config: {retry: {attempts: ${attempts}}}}`);
const all = (...manifests: readonly string[]): string => manifests.join('---\n');

const theirs = all(
  manifest('Workspace', 'name: theirs', '{}'),
  manifest('Config', 'name: shared', '{config: {retry: {attempts: 2}}}'),
  ...Array.from({ length: 60 }, (_, at) => config(`other-${at}`)),
);
const ours = all(manifest('Workspace', 'name: ours', '{}'), config('one'), config('two'));
const bot = manifest('ApiKey', 'name: bot', '{scopes: [logs.list]}');

let server: TestServer;
let sync: SyncSetup;
/** A resource of another owner. */
let shared: { id: string; slug: string };
/** An unmanaged resource. */
let stray: string;

beforeAll(async () => {
  server = await startSyncServer();
  sync = openSync(server);
  await sync.cycle(theirs, { client: sync.openClient({ owner: 'others' }) });
  await sync.cycle(all(ours, bot));
  const made = await server.request('POST', '/v2/configs', { body: { name: 'stray', config: {} } });
  stray = made.body.id;
  const { resources } = await snapshot('owner=platform');
  shared = resources.find(({ name }) => name === 'shared') as typeof shared;
});
afterAll(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function snapshot(query: string): Promise<Snapshot> {
  const answer = await server.request('GET', `/admin/v2/gatewright/snapshot?${query}`);
  expect(answer.status).toBe(200);
  return answer.body as Snapshot;
}

const namesOf = ({ resources }: Snapshot): string[] =>
  resources.map(({ kind, name, managed_by }) => `${kind} ${name} ${managed_by?.owner ?? '-'}`);

describe('the snapshot of an owner', () => {
  it('contains own and unmanaged resources, and all workspaces', async () => {
    const own = await snapshot('owner=platform&view=own');
    const whole = await snapshot('owner=platform');
    const isSeen = (name: string): boolean =>
      !name.endsWith(' others') || name.startsWith('Workspace ');
    expect(namesOf(own)).toEqual(namesOf(whole).filter(isSeen));
    expect(namesOf(own)).toContain('Workspace theirs others');
    expect(namesOf(own)).toContain('Config stray -');
    expect(namesOf(whole).length - namesOf(own).length).toBe(61);
    const byId = new Map(whole.resources.map((resource) => [resource.id, resource]));
    expect(own.resources).toEqual(own.resources.map(({ id }) => byId.get(id)));
  });

  it('contains resources named by id or slug as well, with their owners', async () => {
    const named = async (text: string) => {
      const { resources } = await snapshot(`owner=platform&view=own&named=${text}`);
      return resources.filter(
        ({ managed_by: by, kind }) => by?.owner === 'others' && kind === 'Config',
      );
    };
    for (const text of [shared.id, shared.slug, `nothing,%22,${shared.slug},${stray}`]) {
      expect(await named(text)).toMatchObject([{ id: shared.id, managed_by: { name: 'shared' } }]);
    }
    expect(await named('nothing')).toEqual([]);
  });

  it('has a separate ETag for each set of names', async () => {
    const queries = ['', '&view=own', '&view=own&named=a', '&view=own&named=b'];
    const tags = await Promise.all(
      queries.map(async (query) => {
        const path = `/admin/v2/gatewright/snapshot?owner=platform${query}`;
        return (await server.request('GET', path)).headers.etag;
      }),
    );
    expect(new Set(tags).size).toBe(queries.length);
  });

  it('accepts at most fifty names', async () => {
    const path = '/admin/v2/gatewright/snapshot?owner=platform&view=own&named=';
    expect((await server.request('GET', `${path + 'a,'.repeat(49)}a`)).status).toBe(200);
    expect((await server.request('GET', `${path + 'a,'.repeat(50)}a`)).status).toBe(400);
  });
});

describe('a plan from a limited snapshot', () => {
  const external = (spec: string): string => manifest('External', 'name: theirs', spec);
  const cases: Record<string, () => { text: string; views: string[] }> = {
    'nothing to do': () => ({ text: all(ours, bot), views: ['own'] }),
    'another value': () => ({
      text: all(ours.replace('attempts: 3', 'attempts: 4'), bot),
      views: ['own', 'whole'],
    }),
    'a name that others have': () => ({
      text: all(ours, bot, config('other-7')),
      views: ['own', 'whole'],
    }),
    'a name that nobody’s has': () => ({
      text: all(ours, bot, config('stray')),
      views: ['own', 'whole'],
    }),
    'a manifest that is gone': () => ({ text: ours, views: ['own', 'whole'] }),
    'an External by slug': () => ({
      text: all(ours, bot, external(`{kind: Config, slug: ${shared.slug}}`)),
      views: ['own'],
    }),
    'an External by id': () => ({
      text: all(ours, bot, external(`{kind: Config, id: ${shared.id}}`)),
      views: ['own'],
    }),
    'an External by name': () => ({
      text: all(ours, bot, external('{kind: Config, name: shared}')),
      views: ['whole'],
    }),
    'an External that leads nowhere': () => ({
      text: all(ours, bot, external('{kind: Config, slug: nothing}')),
      views: ['own', 'whole'],
    }),
  };

  it.each(Object.keys(cases))('contains %s like one from a full snapshot', async (name) => {
    const { text, views } = cases[name]!();
    const plan = async (looksAtOwnFirst: boolean) => {
      const cycle = await sync.cycle(text, { act: false, looksAtOwnFirst });
      const { base: _, ...document } = planDocument(cycle.plan, cycle.warnings);
      return document;
    };
    const whole = await plan(false);
    const requested: string[] = [];
    const send = Transport.prototype.send;
    vi.spyOn(Transport.prototype, 'send').mockImplementation(function (this: Transport, ...sent) {
      const { pathname, searchParams } = sent[0];
      if (pathname.endsWith('/snapshot')) requested.push(searchParams.get('view') ?? 'whole');
      return send.apply(this, sent);
    });
    try {
      expect(await plan(true)).toEqual(whole);
    } finally {
      vi.restoreAllMocks();
    }
    expect(requested).toEqual(views);
  });
});
