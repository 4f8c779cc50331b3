/** Verifies the tags of declared providers: created, changed, removed and exported as written. */
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

const head = (kind: string, name: string) =>
  `apiVersion: gatewright.dev/v1\nkind: ${kind}\nmetadata: {name: ${name}`;
const manifests = (spec: string) => `${head('Workspace', 'team')}}
---
${head('Integration', 'openai')}}
spec: {aiProviderId: openai, slug: openai, tags: {owner: platform}}
---
${head('Provider', 'main')}, workspace: team}
spec: {slug: main, integrationRef: openai${spec}}
`;
const cycle = async (spec: string) => {
  const { ending, plan } = await sync.cycle(manifests(spec));
  expect(ending).toBe('success');
  return plan.changes.map(({ action, fields }) => [action, ...fields.map(({ path }) => path)]);
};
const readTags = async () => (await server.request('GET', '/v2/providers/main')).body.tags;

it('creates, keeps, changes, exports and removes the tags of a provider', async () => {
  const tags = ', tags: {costCentre: "42", Team_B: yes please}';
  expect((await cycle(tags)).map(([action]) => action)).toEqual(['create', 'create', 'create']);
  expect(await readTags()).toEqual({ costCentre: '42', Team_B: 'yes please' });
  expect(await cycle(tags)).toEqual([]);
  expect(await cycle(', tags: {costCentre: "43"}')).toEqual([
    ['update', expect.stringContaining('tags'), expect.stringContaining('tags')],
  ]);
  expect(await readTags()).toEqual({ costCentre: '43' });

  const live = toLiveSet(await readSnapshot(sync.client, null), 'platform', []);
  const of = { owner: 'platform', kinds: [], scope: null, unmanaged: false };
  const files = exportManifests(live, of).files.map(({ path, text }) => [path, text] as const);
  expect(files.map(([, text]) => text).join('')).toMatch(/tags:\n\s+costCentre: ["']43["']/);
  const exported = await desiredFrom(Object.fromEntries(files));
  expect((await sync.cycle(exported, { act: false })).plan.changes).toEqual([]);

  expect(await cycle('')).toEqual([['update', '/tags']]);
  expect(await readTags()).toEqual({ owner: 'platform' });
});
