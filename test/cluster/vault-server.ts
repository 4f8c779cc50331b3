/** Starts a real Vault or OpenBao for tests in development mode, with storage in memory. */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { systemClock } from '../../src/clock.ts';
import { spawnWithLeash } from '../../src/embedded/leash.ts';
import type { VaultAccess, VaultLogin } from '../../src/vault/vault-access.ts';
import { VaultClient } from '../../src/vault/vault-client.ts';

/** Path of a `vault` or `bao` program. */
const program = process.env.GATEWRIGHT_TEST_VAULT;

/** Why no Vault can run here; null when one can. */
export const unavailable = ((): string | null => {
  if (program === undefined) return 'GATEWRIGHT_TEST_VAULT names no vault or bao program';
  try {
    accessSync(program, constants.X_OK);
    return null;
  } catch {
    return `${program} of GATEWRIGHT_TEST_VAULT is not executable`;
  }
})();

export interface VaultServer extends AsyncDisposable {
  readonly address: URL;
  /** PEM file of the certificate authority of the server. */
  readonly caFile: string;
  /** File with the root token. */
  readonly rootFile: string;
  /** Uses the root token without `login`; closed with the server. */
  client(login?: VaultLogin, more?: Partial<VaultAccess>): VaultClient;
  /** Writes a file to the folder of this server and returns its path. */
  file(name: string, text: string): string;
  seal(): Promise<void>;
  unseal(): Promise<void>;
}

const rootToken = 'root-of-a-test';

export async function startVault(): Promise<VaultServer> {
  const home = mkdtempSync(join(tmpdir(), 'gatewright-vault-'));
  const file = (name: string, text: string): string => {
    writeFileSync(join(home, name), text);
    return join(home, name);
  };
  const port = await freePort();
  const address = new URL(`https://127.0.0.1:${port}`);
  const { child } = spawnWithLeash(
    [
      program!,
      'server',
      '-dev-tls',
      `-dev-tls-cert-dir=${home}`,
      '-dev-no-store-token',
      `-dev-root-token-id=${rootToken}`,
      `-dev-listen-address=127.0.0.1:${port}`,
    ],
    { cwd: home, env: { HOME: home, PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const unsealKey = await unsealKeyOf(child);
  const caFile = join(home, 'vault-ca.pem');
  const rootFile = file('root-token', rootToken);
  const clients: VaultClient[] = [];
  const open: VaultServer['client'] = (login, more = {}) => {
    const access = { address, namespace: null, caFile, ...more };
    const asRoot = { method: 'token', tokenFile: rootFile } as const;
    const client = new VaultClient({ ...access, login: login ?? asRoot }, systemClock, setTimeout);
    clients.push(client);
    return client;
  };
  const root = open();
  return {
    address,
    caFile,
    rootFile,
    client: open,
    file,
    seal: async () => {
      await root.request({ method: 'POST', path: 'sys/seal' });
    },
    unseal: async () => {
      const body = { key: unsealKey };
      await root.request({ method: 'POST', path: 'sys/unseal', body });
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
      if (child.exitCode === null) {
        child.kill();
        await once(child, 'exit');
      }
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Resolves when the server is ready. */
async function unsealKeyOf(child: ChildProcess): Promise<string> {
  let output = '';
  child.stderr!.on('data', (text) => {
    output += text;
  });
  for await (const text of child.stdout!) {
    output += text;
    const [, key] = /Unseal Key: (\S+)/.exec(output) ?? [];
    if (key !== undefined) {
      child.stdout!.resume();
      return key;
    }
  }
  throw new Error(`the Vault of this test ended: ${output.slice(-2_000)}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
