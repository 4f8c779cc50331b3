/** Tests that an apply interrupted at any point is completed by the next one, with nothing lost or doubled. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { startFaultyProxy } from '../../support/network/faulty-proxy.ts';
import type { TestServer } from '../../support/server/server.ts';
import { spawnTestProcess } from '../../support/server/test-process.ts';
import { endLeases } from '../../support/sync/lease.ts';
import { canaries, everyKind, startSyncServer } from '../../support/sync/sync-setup.ts';
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

/** Applies through a proxy that signals the process at the first request matching `isMeant`. */
async function applySignalled(
  signal: NodeJS.Signals,
  isMeant: (index: number, request: string) => boolean,
): Promise<CliResult> {
  let child: ChildProcess | null = null;
  await using proxy = await startFaultyProxy(server.url, (index, request) => {
    if (isMeant(index, request)) child?.kill(signal);
    return 'pass';
  });
  pointAt(proxy.url);
  const started = spawnTestProcess([program, 'apply', 'gateway', '--yes'], {
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
  // A killed run has not released its lease, which expires within seconds.
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
  it('reports success when interrupted with SIGINT while its last requests complete', async () => {
    const { exitCode, stdout } = await applySignalled('SIGINT', (_, request) =>
      request.endsWith('/changes'),
    );
    expect(stdout).not.toContain('Interrupted');
    expect(exitCode).toBe(0);
    await expectFinished();
  });

  it.each([2, 3, 4, 5, 6, 7, 8, 9, 10])(
    'completes in the next run after SIGKILL at request %i',
    async (k) => {
      const killed = await applySignalled('SIGKILL', (index) => index === k);
      expect(killed.exitCode).toBeNull();
      await expectFinished();
    },
  );

  it('finishes requests in progress when interrupted with SIGINT, reports, and exits with 3', async () => {
    // The workspace takes several requests, because its content waits for it.
    const more = Array.from({ length: 30 }, (_, at) =>
      [
        '---',
        'apiVersion: gatewright.dev/v1',
        'kind: Config',
        `metadata: {name: more-${at}, workspace: support}`,
        'spec: {config: {retry: {attempts: 2}}}',
      ].join('\n'),
    );
    writeFileSync(join(folder, 'gateway/more.yaml'), more.join('\n'));
    const { exitCode, stdout } = await applySignalled('SIGINT', (_, request) =>
      request.endsWith('/changes'),
    );
    expect(stdout).toContain('Interrupted: run it again to finish.');
    expect(exitCode).toBe(3);
    await expectFinished();
  });
});
