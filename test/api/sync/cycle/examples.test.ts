/**
 * Verifies that the examples contain every kind, apply to a fresh server, and that a second plan
 * and a plan of their export are empty.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { kindNames } from '../../../../src/model/kinds/kinds.ts';
import { exportManifests } from '../../../../src/sync/export/export.ts';
import { readSnapshot, toLiveSet } from '../../../../src/sync/server/live.ts';
import { desiredFrom, openSync, startSyncServer } from '../../../support/sync/sync-setup.ts';

const folder = resolve(import.meta.dirname, '../../../../examples/1-quickstart');
const files = Object.fromEntries(
  readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
);

it('creates every kind of the examples in one run, equal to its manifests and its export', async () => {
  await using server = await startSyncServer();
  await using sync = openSync(server);
  const set = await desiredFrom(files, {});
  const declared = new Set(set.resources.map(({ identity }) => identity.kind));
  expect([...declared].toSorted()).toEqual([...kindNames].toSorted());
  const { ending, plan } = await sync.cycle(set);
  expect([ending, plan.blocked]).toEqual(['success', []]);
  expect((await sync.cycle(set, { act: false })).plan.changes).toEqual([]);
  const live = toLiveSet(await readSnapshot(sync.client, null), 'platform', []);
  const of = { owner: 'platform', kinds: [], scope: null, unmanaged: false };
  const exported = exportManifests(live, of).files.map(({ path, text }) => [path, text]);
  const again = await desiredFrom(Object.fromEntries(exported), {});
  const { plan: second } = await sync.cycle(again, { act: false });
  expect(second.changes.map(({ id, fields }) => [id, fields])).toEqual([]);
  expect(second.blocked).toEqual([]);
});
