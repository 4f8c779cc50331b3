/** Sets up and serves the built product for a measurement, on its own real database. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';
import { request as send } from 'undici';
import type { TestDatabaseServer } from '../test/support/database/database-server.ts';

const main = resolve(import.meta.dirname, '../dist/main.js');
export const databaseName = 'gatewright_bench';

export interface Server {
  readonly url: string;
  readonly process: ChildProcess;
}

export function environment({ port, user, password }: TestDatabaseServer): Record<string, string> {
  return {
    PATH: process.env.PATH!,
    DB_HOST: '127.0.0.1',
    DB_PORT: String(port),
    DB_USER: user,
    DB_PASS: password,
    DB_NAME: databaseName,
    DB_SSL: 'DISABLED',
    GATEWRIGHT_MASTER_KEY: randomBytes(32).toString('base64'),
    GATEWRIGHT_LOG_LEVEL: 'warn',
  };
}

export interface Tenant {
  readonly tsgId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly organisationApiKey: string;
}

/** Migrates a new database and creates its first tenant. */
export async function setUp(
  server: TestDatabaseServer,
  env: Record<string, string>,
): Promise<Tenant> {
  const connection = await createConnection({ ...server });
  await connection.query(`CREATE DATABASE ${databaseName}`);
  await connection.end();
  await runCommand(env, 'migrate');
  return makeTenant(env);
}

/** Creates a tenant that contains nothing but its credentials. */
export async function makeTenant(env: Record<string, string>): Promise<Tenant> {
  return JSON.parse(await runCommand(env, 'bootstrap', '--file', '-')) as Tenant;
}

async function runCommand(env: Record<string, string>, ...words: string[]): Promise<string> {
  const child = spawn(process.execPath, [main, ...words], { env, cwd: tmpdir() });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.pipe(process.stderr);
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${words.join(' ')} exited with ${code}`);
  return output;
}

export async function startProduct(env: Record<string, string>): Promise<Server> {
  const words = ['serve', '--port', '0', '--metrics-port', '0', '--no-jobs'];
  const child = spawn(process.execPath, [main, ...words], {
    env: { ...env, GATEWRIGHT_LOG_LEVEL: 'info' },
    cwd: tmpdir(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const url = await firstLine(child, child.stderr!, (line) => {
    const { adminUrl } = JSON.parse(line) as { adminUrl?: string };
    return adminUrl;
  });
  return { url, process: child };
}

/** Requests an access token of the tenant's service account. */
export async function tokenOf(
  { url }: Server,
  { tsgId, clientId, clientSecret }: Tenant,
): Promise<string> {
  const response = await send(`${url}/oauth2/access_token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: `grant_type=client_credentials&scope=tsg_id%3A${tsgId}`,
  });
  return ((await response.body.json()) as { access_token: string }).access_token;
}

/**
 * Returns the first line for which `find` returns a value. Keeps reading until the end, so that the
 * process never blocks on a full pipe.
 */
export async function firstLine(
  child: ChildProcess,
  stream: NodeJS.ReadableStream,
  find: (line: string) => string | undefined,
): Promise<string> {
  const { promise, resolve: found, reject } = Promise.withResolvers<string>();
  createInterface({ input: stream }).on('line', (line) => {
    const wanted = find(line);
    if (wanted !== undefined) found(wanted);
  });
  child.once('exit', (code) => reject(new Error(`a server exited with ${code}`)));
  return promise;
}

/**
 * CPU time of the running threads of a process, from the scheduler's statistics in nanoseconds. These are
 * far more precise than ticks. Threads that have ended are not included.
 */
export function cpuMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const ns = threads.map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ', 1)[0]),
  );
  return ns.reduce((sum, each) => sum + each, 0) / 1e6;
}

/** User and system time of a process in ticks of 10 ms. */
export function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ').map(Number);
  return fields[11]! + fields[12]!;
}

export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1024;
}

/** The largest resident size so far; 0 once the process has ended. */
export function peakResidentMiB(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** Environment variables that the chart sets for the daemon (charts/gatewright/templates/_sync.tpl). */
const chartEnvironment = {
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '32768',
  MALLOC_TOP_PAD_: '4096',
};

/** Runs a daemon that syncs `source` in a folder, and calls `measure` `settleMs` after its first cycle. */
export async function measureDaemon<T>(
  folder: string,
  settleMs: number,
  measure: (pid: number) => T | Promise<T>,
): Promise<T> {
  const words = [
    'sync',
    'source',
    '--credentials',
    'credentials.json',
    '--port',
    '0',
    '-o',
    'json',
  ];
  const daemon = spawn(process.execPath, [main, ...words], {
    cwd: folder,
    env: { PATH: process.env.PATH!, ...chartEnvironment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await firstLine(daemon, daemon.stdout, (line) =>
    line.includes('"event":"cycle"') ? line.slice(0, 80) : undefined,
  );
  await delay(settleMs);
  const measured = await measure(daemon.pid!);
  const exited = once(daemon, 'exit');
  daemon.kill();
  await exited;
  return measured;
}
