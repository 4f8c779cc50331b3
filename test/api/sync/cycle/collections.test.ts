/**
 * Verifies nested prompt collections: created and deleted in order, moved by manifests, exported,
 * and never circular.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exportManifests } from '../../../../src/sync/export/export.ts';
import { readSnapshot, toLiveSet } from '../../../../src/sync/server/live.ts';
import type { TestServer } from '../../../support/server/server.ts';
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
  sync = openSync(server);
});
afterAll(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const workspaces = ['support', 'research']
  .map((name) => `apiVersion: gatewright.dev/v1\nkind: Workspace\nmetadata: {name: ${name}}\n---\n`)
  .join('');
const one = (kind: string, name: string, spec: string, workspace = 'support') =>
  `apiVersion: gatewright.dev/v1\nkind: ${kind}\nmetadata: {name: ${name}, workspace: ${workspace}}\nspec: ${spec}\n---\n`;
const collection = (name: string, parent?: string) =>
  one('PromptCollection', name, parent === undefined ? '{}' : `{parentCollectionRef: ${parent}}`);
const prompt = (name: string, within: string) =>
  one('Prompt', name, `{slug: ${name}, collectionRef: ${within}, string: Hello}`);

async function apply(text: string): Promise<void> {
  expect((await sync.cycle(text)).ending).toBe('success');
  expect((await sync.cycle(text, { act: false })).plan.changes).toEqual([]);
}

/** The parent of each collection, by name. */
async function tree(): Promise<Record<string, string | null>> {
  const { data } = (await server.request('GET', '/v2/collections?page_size=100')).body;
  const nameOf = new Map(data.map(({ id, name }: { id: string; name: string }) => [id, name]));
  const made = data.filter(({ is_default }: { is_default: number }) => is_default === 0);
  return Object.fromEntries(
    made.map((row: { name: string; parent_collection_id: string | null }) => [
      row.name,
      row.parent_collection_id && nameOf.get(row.parent_collection_id),
    ]),
  );
}

// Parents sort after their children by name.
const nested = [
  collection('a', 'b') + collection('b', 'c') + collection('c'),
  prompt('welcome', 'a') + prompt('bye', 'b'),
].join('');

it('creates nested collections in their parents, and a second plan is empty', async () => {
  await apply(workspaces + nested);
  expect(await tree()).toEqual({ a: 'b', b: 'c', c: null });
});

it('exports collections with their parents', async () => {
  const live = toLiveSet(await readSnapshot(sync.client, null), 'platform', []);
  const of = { owner: 'platform', kinds: [], scope: null, unmanaged: false };
  const files = Object.fromEntries(
    exportManifests(live, of).files.map(({ path, text }) => [path, text] as const),
  );
  expect(Object.values(files).join('')).toContain('parentCollectionRef: c');
  const exported = await desiredFrom(files);
  expect((await sync.cycle(exported, { act: false })).plan.changes).toEqual([]);
});

it('moves collections in one run with their contents and ids', async () => {
  const ids = async () => {
    const { data } = (await server.request('GET', '/v2/collections?page_size=100')).body;
    return data.flatMap((row: { id: string; name: string }) => (row.name < 'd' ? [row.id] : []));
  };
  const before = await ids();
  const moved = nested.replace('parentCollectionRef: c}', 'parentCollectionRef: d}');
  await apply(workspaces + moved + collection('d'));
  expect(await tree()).toEqual({ a: 'b', b: 'd', c: null, d: null });
  // In the opposite order, in which each one blocks another until it is moved.
  const turned =
    collection('a') + collection('b', 'a') + collection('c', 'b') + collection('d', 'c');
  await apply(workspaces + turned + prompt('welcome', 'a') + prompt('bye', 'b'));
  expect(await tree()).toEqual({ a: null, b: 'a', c: 'b', d: 'c' });
  expect(await ids()).toEqual(before);
  const { data } = (await server.request('GET', '/v2/prompts?page_size=100')).body;
  expect(data.map(({ slug }: { slug: string }) => slug).toSorted()).toEqual(['bye', 'welcome']);
});

it('takes over existing collections with their parents', async () => {
  const { body: found } = await server.request('GET', '/v2/collections?page_size=100');
  const [place] = found.data.filter(({ name }: { name: string }) => name === 'd');
  const body = { name: 'e', workspace_id: place.workspace_id, parent_collection_id: place.id };
  expect((await server.request('POST', '/v2/collections', { body })).status).toBe(200);
  const text = `${workspaces}${collection('d')}${collection('e', 'd')}`;
  const { plan } = await sync.cycle(text, { act: false });
  expect(plan.blocked.map(({ reason }) => reason)).toEqual(['unmanaged-twin']);
  expect((await sync.cycle(text, { takeOwnership: true })).ending).toBe('success');
  expect((await sync.cycle(text, { act: false })).plan.changes).toEqual([]);
});

it('deletes nested collections in one run, children first', async () => {
  await apply(workspaces + nested);
  await apply(workspaces);
  expect(await tree()).toEqual({});
  for (const text of [workspaces + nested, workspaces]) {
    expect((await sync.cycle(text, { isAtomic: true })).ending).toBe('success');
    expect(Object.keys(await tree())).toHaveLength(text === workspaces ? 0 : 3);
  }
});

it('rejects circular parents and parents of another workspace with the position', async () => {
  const circle = sync.cycle(workspaces + collection('x', 'y') + collection('y', 'x'));
  await expect(circle).rejects.toThrow(/refer to each other in a circle[\s\S]*all\.yaml:\d+:\d+/);
  await expect(
    desiredFrom(
      workspaces + collection('x', 'research/y') + one('PromptCollection', 'y', '{}', 'research'),
    ),
  ).rejects.toThrow(/belongs to workspace research/);
});
