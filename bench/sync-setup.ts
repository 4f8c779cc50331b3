/** Serves the product for measurements of sync, with credentials and sources in a temporary folder. */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestDatabaseServer } from '../test/support/database/database-server.ts';
import type { Row } from './harness.ts';
import { environment, type Server, setUp, startProduct, type Tenant } from './product.ts';

const filesPerFolder = 50;

export interface SyncSetup {
  /** Contains `credentials.json`. */
  readonly folder: string;
  readonly env: Record<string, string>;
  readonly server: Server;
  readonly tenant: Tenant;
}

/** Removes the server, its database and the folder once `measure` has ended. */
export async function withSyncSetup(measure: (setup: SyncSetup) => Promise<Row[]>): Promise<Row[]> {
  const database = await startTestDatabaseServer();
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-bench-'));
  try {
    const env = environment(database.server);
    const tenant = await setUp(database.server, env);
    const server = await startProduct(env);
    writeCredentials(join(folder, 'credentials.json'), server.url, tenant);
    const rows = await measure({ folder, env, server, tenant });
    server.process.kill();
    await once(server.process, 'exit');
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await database.stop();
  }
}

export function writeCredentials(path: string, url: string, tenant: Tenant): void {
  const addresses = { baseUrl: `${url}/v1`, adminBaseUrl: url, authUrl: url };
  writeFileSync(path, JSON.stringify({ ...tenant, ...addresses }));
}

/** Writes one config per file, 50 files per folder. */
export function writeSource(root: string, count: number): void {
  for (let at = 0; at < count; at += 1) {
    const subfolder = join(root, `team-${Math.floor(at / filesPerFolder)}`);
    if (at % filesPerFolder === 0) mkdirSync(subfolder, { recursive: true });
    const lines = [
      'apiVersion: gatewright.dev/v1',
      'kind: Config',
      `metadata: {name: config-${at}}`,
      'spec: {config: {retry: {attempts: 3}}}',
    ];
    writeFileSync(join(subfolder, `config-${at}.yaml`), `${lines.join('\n')}\n`);
  }
}
