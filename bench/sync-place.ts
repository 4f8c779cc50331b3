/** Knows how the product is served to measurements of sync, with its credentials and sources in a folder. */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestDatabaseServer } from '../test/support/database/database-server.ts';
import type { Row } from './harness.ts';
import { environment, type Server, setUp, startProduct, type Tenant } from './product.ts';

const filesPerFolder = 50;

export interface Place {
  /** Where `credentials.json` lies. */
  readonly folder: string;
  readonly env: Record<string, string>;
  readonly server: Server;
  readonly tenant: Tenant;
}

/** Everything that it stands on goes when `measure` has ended. */
export async function atPlace(measure: (place: Place) => Promise<Row[]>): Promise<Row[]> {
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

/** A config a file, in folders of fifty. */
export function writeSource(root: string, count: number): void {
  for (let at = 0; at < count; at += 1) {
    const place = join(root, `team-${Math.floor(at / filesPerFolder)}`);
    if (at % filesPerFolder === 0) mkdirSync(place, { recursive: true });
    const lines = [
      'apiVersion: gatewright.dev/v1',
      'kind: Config',
      `metadata: {name: config-${at}}`,
      'spec: {config: {retry: {attempts: 3}}}',
    ];
    writeFileSync(join(place, `config-${at}.yaml`), `${lines.join('\n')}\n`);
  }
}
