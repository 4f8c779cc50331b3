/**
 * Verifies invariants of sync against a real server: file order is irrelevant, and pruning affects
 * own resources only.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readSnapshot } from '../../../../src/sync/server/live.ts';
import type { TestServer } from '../../../support/server/server.ts';
import {
  everyKind,
  onlyOnes,
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

it('produces the same result for any files, order and position of documents', async () => {
  const documents = (everyKind + onlyOnes).split('\n---\n');
  expect((await sync.cycle(everyKind + onlyOnes)).ending).toBe('success');
  const order = fc.shuffledSubarray(documents, { minLength: documents.length });
  const files = fc.array(fc.nat({ max: 4 }), {
    minLength: documents.length,
    maxLength: documents.length,
  });
  await fc.assert(
    fc.asyncProperty(order, files, async (shuffled, places) => {
      const texts: Record<string, string> = {};
      for (const [at, text] of shuffled.entries()) {
        const path = `${places[at]}.yaml`;
        texts[path] = `${texts[path] ?? ''}\n---\n${text}`;
      }
      const { plan } = await sync.cycle(texts, { act: false });
      expect([plan.changes, plan.blocked, plan.unchanged]).toEqual([[], [], documents.length]);
    }),
    { numRuns: 25 },
  );
  expect((await sync.cycle('', { allowDeletes: 99 })).ending).toBe('success');
});

it('leaves resources of others unchanged whatever leaves the source in any scope', async () => {
  const workspaces = ['sales', 'support'];
  const config = (name: string, workspace: string, weight = 1): string => `
---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: ${name}, workspace: ${workspace}}
spec: {config: {targets: [{provider: openai, weight: ${weight}}]}}
`;
  const own = workspaces.map(
    (name) => `---\napiVersion: gatewright.dev/v1\nkind: Workspace\nmetadata: {name: ${name}}\n`,
  );
  const external = (name: string, slug: string): string =>
    `---\napiVersion: gatewright.dev/v1\nkind: External\nmetadata: {name: ${name}}\nspec: {kind: Workspace, slug: ${slug}}\n`;
  await sync.cycle(own.join(''));
  const before = (await readSnapshot(sync.client, null)).snapshot.resources;
  const slugs = workspaces.map(
    (name) => before.find(({ managed_by: managed }) => managed?.name === name)!.slug!,
  );
  const client = sync.openClient({ owner: 'other' });
  const others = workspaces.map((name, at) => external(name, slugs[at]!) + config('theirs', name));
  expect((await sync.cycle(others.join(''), { client })).ending).toBe('success');
  for (const slug of slugs) {
    const id = before.find((resource) => resource.slug === slug)!.id;
    const body = { name: 'nobodys', workspace_id: id, config: { retry: { attempts: 2 } } };
    expect((await server.request('POST', '/v2/configs', { body })).status).toBe(200);
  }
  const foreign = async () =>
    (await readSnapshot(sync.client, null)).snapshot.resources.filter(
      ({ managed_by: managed }) => managed?.owner !== 'platform',
    );
  const untouched = await foreign();
  expect(untouched.length).toBeGreaterThanOrEqual(4);

  const names = ['a', 'b', 'c'];
  const every = workspaces.flatMap((workspace) => names.map((name) => ({ workspace, name })));
  const step = fc.record({
    stored: fc.subarray(every),
    weight: fc.integer({ min: 1, max: 3 }),
    scope: fc.constantFrom(null, new Set(['sales']), new Set(['support'])),
  });
  let expected = new Set<string>();
  await fc.assert(
    fc.asyncProperty(step, async ({ stored, weight, scope }) => {
      const text =
        own.join('') + stored.map((one) => config(one.name, one.workspace, weight)).join('');
      const { ending } = await sync.cycle(text, { scope });
      expect(ending).toBe('success');
      const isOutside = (key: string) => scope !== null && !scope.has(key.split('/')[0]!);
      const wanted = stored.map((one) => `${one.workspace}/${one.name}`);
      expected = new Set([
        ...[...expected].filter(isOutside),
        ...wanted.filter((key) => !isOutside(key)),
      ]);
      const { resources } = (await readSnapshot(sync.client, null)).snapshot;
      const ours = resources.filter(
        ({ kind, managed_by: managed }) => kind === 'Config' && managed?.owner === 'platform',
      );
      expect(new Set(ours.map(({ managed_by: by }) => `${by!.workspace}/${by!.name}`))).toEqual(
        expected,
      );
      expect(await foreign()).toEqual(untouched);
    }),
    { numRuns: 25 },
  );
});
