/** Starts the real product in its own process on its own database, with a mock provider and MCP server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { createKeyring, type Keyring } from '../../../src/auth/keyring.ts';
import { createMasterKeys } from '../../../src/auth/master-keys.ts';
import { startMockServer } from '../../../src/commands/mock-upstream/mock-server.ts';
import { readSettings } from '../../../src/settings.ts';
import { type Database, openDatabase } from '../../../src/store/connection/db.ts';
import type { TestDatabaseServer } from '../../support/database/database-server.ts';
import { databaseVariables } from '../../support/database/database-variables.ts';
import { createDatabaseOn } from '../../support/database/empty-database.ts';

const program = resolve(import.meta.dirname, '../../../src/main.ts');
const consoleIndex = resolve(import.meta.dirname, '../../../.cache/console/index.html');
const preload = resolve(import.meta.dirname, 'report-loop-delay.ts');

/** Addresses of the listeners, each `http://127.0.0.1:port`. */
interface ProductUrls {
  readonly admin: string;
  readonly inference: string;
  readonly mcp: string;
  readonly metrics: string;
}

export interface FuzzedProduct extends AsyncDisposable {
  readonly urls: ProductUrls;
  readonly database: Database;
  readonly keyring: Keyring;
  /** `http://127.0.0.1:port/v1` of the mock provider. */
  readonly providerUrl: string;
  /** `http://127.0.0.1:port/mcp` of the mock MCP server. */
  readonly mcpServerUrl: string;
  /** Values of the environment that no output may contain. */
  readonly secrets: readonly string[];
  /** Returns the log lines since the last call. */
  takeLog(): string[];
  /** The longest block of the event loop so far, in milliseconds. */
  longestBlockMs(): number;
  /** Null while the process runs; otherwise how it ended. */
  ending(): string | null;
  /** Runs a job in a process of its own. */
  runJob(name: string): Promise<void>;
}

export async function startProduct(server: TestDatabaseServer): Promise<FuzzedProduct> {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-fuzz-'));
  const mock = await startMockServer('127.0.0.1', 0);
  const empty = await createDatabaseOn(server);
  const masterKey = randomBytes(32).toString('base64');
  const variables = {
    GATEWRIGHT_MASTER_KEY: masterKey,
    GATEWRIGHT_PUBLIC_URL: 'https://gateway.example.com',
    GATEWRIGHT_SIGN_IN_ISSUER: 'https://login.invalid',
    GATEWRIGHT_SIGN_IN_CLIENT_ID: 'fuzz',
    GATEWRIGHT_SIGN_IN_CLIENT_SECRET: randomBytes(24).toString('base64url'),
    GATEWRIGHT_CONSOLE_ENABLED: existsSync(consoleIndex) ? 'ON' : 'OFF',
    GATEWRIGHT_LAME_DUCK_SECONDS: '0',
    GATEWRIGHT_SHUTDOWN_DRAIN_SECONDS: '1',
    TRUSTED_CUSTOM_HOSTS: [mock.url, mock.mcpUrl].map((url) => new URL(url).host).join(','),
  };
  const env = { PATH: process.env.PATH!, ...databaseVariables(empty.settings), ...variables };
  await runProgram(['migrate'], env, folder);
  const database = openDatabase(empty.settings);
  const { masterKeys } = readSettings({ GATEWRIGHT_MASTER_KEY: masterKey }, { cwd: folder });
  const served = await serve(env, folder);
  const keyring = createKeyring(database, createMasterKeys(masterKeys!));
  await keyring.open();
  return {
    ...served,
    database,
    keyring,
    providerUrl: mock.url,
    mcpServerUrl: mock.mcpUrl,
    secrets: [masterKey, server.password, variables.GATEWRIGHT_SIGN_IN_CLIENT_SECRET],
    runJob: (name) => runProgram(['jobs', 'run', name], env, folder),
    [Symbol.asyncDispose]: async () => {
      await served.stop();
      await database[Symbol.asyncDispose]();
      await empty[Symbol.asyncDispose]();
      await mock[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

type Environment = Readonly<Record<string, string>>;

/** @throws Error with the output of a command that fails */
async function runProgram(words: readonly string[], env: Environment, cwd: string): Promise<void> {
  const child = spawn(process.execPath, [program, ...words], { env, cwd });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${words.join(' ')} exited with ${code}: ${output}`);
}

async function serve(env: Environment, cwd: string) {
  const ports = ['--port', '--metrics-port', '--inference-port', '--mcp-port'];
  const words = ['serve', ...ports.flatMap((name) => [name, '0'])];
  const child = spawn(process.execPath, ['--import', preload, program, ...words], {
    env,
    cwd,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let lines: string[] = [];
  let longestMs = 0;
  child.on('message', ({ longestBlockMs }: { longestBlockMs: number }) => {
    longestMs = longestBlockMs;
  });
  const { promise, resolve: found, reject } = Promise.withResolvers<ProductUrls>();
  createInterface({ input: child.stderr! }).on('line', (line) => {
    lines.push(line);
    if (!line.includes('"adminUrl"')) return;
    const { adminUrl, inferenceUrl, mcpUrl, metricsUrl } = JSON.parse(line);
    found({ admin: adminUrl, inference: inferenceUrl, mcp: mcpUrl, metrics: metricsUrl });
  });
  child.once('exit', () => reject(new Error(`the product ended: ${lines.join('\n')}`)));
  const urls = await promise;
  return {
    urls,
    takeLog: () => {
      const taken = lines;
      lines = [];
      return taken;
    },
    longestBlockMs: () => longestMs,
    ending: () => endingOf(child),
    stop: async () => {
      if (endingOf(child) !== null) return;
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    },
  };
}

function endingOf({ exitCode, signalCode }: ChildProcess): string | null {
  return exitCode === null && signalCode === null ? null : `${signalCode ?? exitCode}`;
}
