/** Verifies that a server builds the snapshot, keeps it in its folder, and shows it in its metrics. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMasterKeys } from '../../../src/auth/master-keys.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { readerOn } from '../../support/snapshot/snapshots.ts';

let server: TestServer;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'snapshot-'));
  server = await startTestServer({
    settings: { snapshot: { directory: folder, maxAgeSeconds: null, isInBucket: false } },
    components: ['admin', 'gateway', 'jobs'],
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** The copy as a process reads it that starts without the database. */
async function loadCopy() {
  const masterKeys = createMasterKeys(server.settings.masterKeys!);
  using held = readerOn(null, { folder, masterKeys });
  await held.reader.load();
  expect(held.refused).toEqual([]);
  return { view: held.reader.view(), isCurrent: held.reader.isCurrent() };
}

describe('a server with a folder for the snapshot', () => {
  it('has each change in the folder soon, without a request for it', async () => {
    for (const slug of ['first', 'second']) {
      const body = { name: slug, slug, config: { cache: { mode: 'simple' } } };
      const { status } = await server.request('POST', '/v1/configs', { body });
      expect(status).toBe(200);
      await eventually(async () => {
        const { view, isCurrent } = await loadCopy();
        const [config] = view!.organisation(server.organisationId)!.rows('configs', 'slug', slug);
        expect(config?.name).toBe(slug);
        expect(isCurrent).toBe(true);
      });
    }
  });

  it('shows what it holds in its metrics', async () => {
    const { body: text } = await exchange('GET', `${server.metricsUrl}/metrics`, undefined, {});
    expect(text).toMatch(/^gatewright_snapshot_organisations 1$/m);
    expect(text).toMatch(/^gatewright_snapshot_keys [1-9]/m);
    expect(text).toMatch(/^gatewright_snapshot_builder 1$/m);
    expect(text).toMatch(/^gatewright_snapshot_age_seconds \d/m);
    expect(text).toMatch(/^gatewright_snapshot_faults_total\{fault="refused"\} 0$/m);
  });
});
