/** Knows how tests get a real Vault or OpenBao: the program in its development mode, which keeps all in memory. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { systemClock } from '../../src/clock.ts';
import type { VaultAccess, VaultLogin } from '../../src/vault/vault-access.ts';
import { VaultClient } from '../../src/vault/vault-client.ts';

/** Path of a `vault` or `bao` that can be run. */
const program = process.env.GATEWRIGHT_TEST_VAULT;

/** Why no Vault can be had here; null where one can. */
export const unavailable = ((): string | null => {
  if (program === undefined) return 'GATEWRIGHT_TEST_VAULT names no vault or bao program';
  try {
    accessSync(program, constants.X_OK);
    return null;
  } catch {
    return `${program}, which GATEWRIGHT_TEST_VAULT names, cannot be run`;
  }
})();

export interface VaultServer extends AsyncDisposable {
  readonly address: URL;
  /** PEM of the authority that vouches for it. */
  readonly caFile: string;
  /** Of the token that may everything. */
  readonly rootFile: string;
  /** Signs in with the root token when `login` is absent; closed with the server. */
  client(login?: VaultLogin, more?: Partial<VaultAccess>): VaultClient;
  /** A file of this server's folder with that text. */
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
  const child = spawn(
    program!,
    [
      ...['server', '-dev-tls', `-dev-tls-cert-dir=${home}`, '-dev-no-store-token'],
      ...[`-dev-root-token-id=${rootToken}`, `-dev-listen-address=127.0.0.1:${port}`],
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
    ...{ address, caFile, rootFile, client: open, file },
    seal: async () => {
      await root.request({ method: 'POST', path: 'sys/seal' });
    },
    unseal: async () => {
      const body = { key: unsealKey };
      await root.request({ method: 'POST', path: 'sys/unseal', body });
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(clients.map((one) => one[Symbol.asyncDispose]()));
      if (child.exitCode === null) {
        child.kill();
        await once(child, 'exit');
      }
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Told once the server is ready. */
async function unsealKeyOf(child: ChildProcess): Promise<string> {
  let told = '';
  child.stderr!.on('data', (text) => {
    told += text;
  });
  for await (const text of child.stdout!) {
    told += text;
    const [, key] = /Unseal Key: (\S+)/.exec(told) ?? [];
    if (key !== undefined) {
      child.stdout!.resume();
      return key;
    }
  }
  throw new Error(`the Vault of this test ended: ${told.slice(-2_000)}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
