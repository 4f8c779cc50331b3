/** Guarantees that an apply killed or interrupted at any moment is finished by the next, nothing lost or doubled. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { startFaultyProxy } from '../faulty-proxy.ts';
import { endLeases } from '../lease.ts';
import type { TestServer } from '../server.ts';
import { canaries, everyKind, startSyncServer } from '../sync-setup.ts';
import { type CliResult, runCli } from './run-cli.ts';

const program = inject('builtProgram');
let server: TestServer;
let folder: string;

beforeEach(async () => {
  server = await startSyncServer();
  folder = mkdtempSync(join(tmpdir(), 'gatewright-kill-'));
  mkdirSync(join(folder, '.gatewright'));
  mkdirSync(join(folder, 'gateway'));
  writeFileSync(join(folder, 'gateway/all.yaml'), everyKind);
});
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server[Symbol.asyncDispose]();
});

function pointAt(url: string): void {
  const { tsgId, clientId, clientSecret } = server;
  const addresses = { baseUrl: `${url}/v1`, adminBaseUrl: url, authUrl: url };
  writeFileSync(
    join(folder, '.gatewright/credentials.json'),
    JSON.stringify({ ...addresses, tsgId, clientId, clientSecret }),
  );
}

/** Applies through a proxy that signals the process as it sees request `k`. */
async function applySignalled(k: number, signal: NodeJS.Signals): Promise<CliResult> {
  let child: ChildProcess | null = null;
  await using proxy = await startFaultyProxy(server.url, (index) => {
    if (index === k) child?.kill(signal);
    return 'pass';
  });
  pointAt(proxy.url);
  const started = spawn(process.execPath, [program, 'apply', 'gateway', '--yes'], {
    cwd: folder,
    env: { ...canaries },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child = started;
  const exited = once(started, 'exit');
  const [stdout, stderr] = await Promise.all([text(started.stdout), text(started.stderr)]);
  const [exitCode] = (await exited) as [number | null];
  return { exitCode, stdout, stderr };
}

function run(...words: string[]): Promise<CliResult> {
  return runCli(words, null, { cwd: folder, env: { ...canaries } });
}

async function expectFinished(): Promise<void> {
  // A run that was killed has not given it back; its time would be up in seconds.
  await endLeases(server);
  pointAt(server.url);
  expect(await run('apply', 'gateway', '--yes')).toMatchObject({ exitCode: 0 });
  expect(await run('plan', 'gateway', '-o', 'json')).toMatchObject({ exitCode: 0 });
  const keys = await server.request('GET', '/v2/api-keys');
  expect(keys.body.data.filter(({ name }: { name: string }) => name === 'bot')).toHaveLength(1);
  const secrets = join(folder, '.gatewright/secrets/support');
  expect(readdirSync(secrets)).toEqual(['bot.key']);
  const value = readFileSync(join(secrets, 'bot.key'), 'utf8').trim();
  const [bot] = keys.body.data.filter(({ name }: { name: string }) => name === 'bot');
  expect(bot.key).toBe(`${value.slice(0, 2)}*****${value.slice(-3)}`);
}

describe('apply', () => {
  it.each([2, 3, 4, 5, 7, 9, 11, 13, 14, 15])(
    'killed with SIGKILL at request %i is finished by the next',
    async (k) => {
      const killed = await applySignalled(k, 'SIGKILL');
      expect(killed.exitCode).toBeNull();
      await expectFinished();
    },
  );

  it('interrupted with SIGINT finishes what is under way, reports, and exits with 3', async () => {
    const { exitCode, stdout } = await applySignalled(5, 'SIGINT');
    expect(stdout).toContain('Interrupted: run it again to finish.');
    expect(exitCode).toBe(3);
    await expectFinished();
  });
});
