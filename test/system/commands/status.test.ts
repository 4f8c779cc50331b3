/** Tests status, suspend and resume: output, printed commands, exit codes. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { TestServer } from '../../support/server/server.ts';
import { spawnTestProcess } from '../../support/server/test-process.ts';
import { createLeases } from '../../support/sync/lease.ts';
import { syncReport } from '../../support/sync/sync-records.ts';
import { everyKind, startSyncServer } from '../../support/sync/sync-setup.ts';
import { type CliResult, runCli, sourceProgram } from './run-cli.ts';

let server: TestServer;
let folder: string;
const lease = createLeases();

beforeAll(async () => {
  server = await startSyncServer();
  folder = mkdtempSync(join(tmpdir(), 'gatewright-status-'));
  mkdirSync(join(folder, 'gateway'));
  mkdirSync(join(folder, '.gatewright'));
  writeFileSync(join(folder, 'gateway/all.yaml'), everyKind.split('---')[0]!);
  const credentials = {
    baseUrl: `${server.url}/v1`,
    adminBaseUrl: server.url,
    authUrl: server.url,
    iamUrl: server.url,
    tsgId: server.tsgId,
    organisationApiKey: server.organisationApiKey,
    clientId: server.clientId,
    clientSecret: server.clientSecret,
  };
  writeFileSync(join(folder, '.gatewright/credentials.json'), JSON.stringify(credentials));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server[Symbol.asyncDispose]();
});

function run(...words: string[]): Promise<CliResult> {
  return runCli(words, null, { cwd: folder });
}

async function tell(owner: string, more: Parameters<typeof syncReport>[0]): Promise<void> {
  const headers = await lease(server.request, owner);
  const body = syncReport(more);
  const reported = await server.request('PUT', '/admin/v2/gatewright/sync/status', {
    body,
    headers,
  });
  expect(reported.status).toBe(200);
}

const row = (stdout: string, start: RegExp): string =>
  stdout.split('\n').find((line) => start.test(line)) ?? `no line of ${stdout}`;

describe('status', () => {
  it('reports that nothing has ever synced, and shows an apply as its revision', async () => {
    expect(await run('status')).toMatchObject({
      exitCode: 0,
      stdout: 'No sync has written to this server yet.\n',
    });
    expect((await run('apply', 'gateway', '--yes')).exitCode).toBe(0);
    const { stdout } = await run('status', '-o', 'wide');
    expect(row(stdout, /^gatewright /)).toMatch(/^gatewright +- +- +- +sha256:[0-9a-f]{64} .* 1 /);
  });

  it('shows commits, states, drift, leader, the error with its position, and each workspace', async () => {
    const workspace = { commit_applied: 'c'.repeat(40), message: null, drift_count: 0 };
    await tell('team-a', {
      source: 'https://git.example/gw.git#main',
      state: 'Degraded',
      drift_count: 2,
      commit_seen: 'd'.repeat(40),
      commit_applied: 'c'.repeat(40),
      error: { file: 'a.yaml', line: 3, column: 7, message: 'no such field\nteam-b: all is well' },
      next_look_at: '2999-01-01T00:00:00Z',
      workspaces: [
        { ...workspace, workspace: 'support', state: 'Synced' },
        { ...workspace, workspace: 'sales', state: 'OutOfSync', message: 'held back \u001b[31m' },
      ],
    });
    const { stdout } = await run('status', '--owner', 'team-a', '-o', 'wide');
    const [c, d] = ['c'.repeat(40), 'd'.repeat(40)];
    expect(row(stdout, /^team-a +-/)).toMatch(
      new RegExp(`Degraded +${d} +${c} +2 +in \\d+ d .* a test +https://git.example/gw.git#main`),
    );
    expect(row(stdout, /^team-a +sales/)).toMatch(/OutOfSync +c{40} +0/);
    expect(stdout).toContain('team-a: a.yaml:3:7: no such field\n  team-b: all is well\n');
    expect(stdout).toContain('team-a: sales: held back \\u001b[31m\n');
    expect((await run('status')).stdout).toMatch(/^team-a +- +Degraded +d{12} +c{12} /m);
    const sales = await run('status', '--workspace', 'sales');
    const names = sales.stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 2).join());
    expect(names.slice(1, 3)).toEqual(['team-a,-', 'team-a,sales']);
    expect(names[3]).toBe('');
  });

  it('distinguishes a silent run from an active one', async () => {
    await tell('gone', { state: 'Synced', next_look_at: '2020-01-01T00:00:00Z' });
    const { stdout } = await run('status', '--owner', 'gone');
    expect(row(stdout, /^gone/)).toContain('Silent');
    expect(stdout).toContain('is the daemon running?');
    const json = JSON.parse((await run('status', '--owner', 'gone', '-o', 'json')).stdout);
    expect(json.owners).toMatchObject([
      { owner: 'gone', state: 'Silent', silent: true, report: { state: 'Synced' } },
    ]);
  });

  it('ends with --watch when the reader of its output has exited', async () => {
    const line = `"${process.execPath}" "${inject('builtProgram')}" status --watch | head -n 1`;
    // Without a change there is no further write that could fail.
    const { stdout } = await promisify(execFile)('bash', ['-c', line], {
      cwd: folder,
      env: { PATH: process.env.PATH },
    });
    expect(stdout.split('\n')).toHaveLength(2);
  });

  it('prints again after each change with --watch, and exits normally after a signal', async () => {
    const words = ['status', '--owner', 'watched', '--watch', '-o', 'json'];
    await tell('watched', { state: 'Progressing' });
    const child = spawnTestProcess([inject('builtProgram'), ...words], {
      cwd: folder,
      env: {},
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const stateOf = async () => JSON.parse((await lines.next()).value!).owners[0].state;
    expect(await stateOf()).toBe('Progressing');
    await tell('watched', { state: 'Progressing', next_look_at: '2999-01-01T00:00:00Z' });
    await tell('watched', { state: 'Synced' });
    expect(await stateOf()).toBe('Synced');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

describe('suspend and resume', () => {
  it('pauses an owner or workspace, which apply honours; every printed command runs unchanged', async () => {
    const clone = (...words: string[]) =>
      runCli(words, null, { cwd: folder, program: sourceProgram });
    const made = await clone('suspend', 'support', '--for', '2h', '--reason', "it's a freeze");
    expect(made.stdout).toMatch(
      /^owner gatewright, workspace support is suspended until 2\d{3}-.*Z, by .*: it's a freeze\n/,
    );
    const displayed = await run('status');
    expect(row(displayed.stdout, /^gatewright +support/)).toContain('Suspended');
    writeFileSync(
      join(folder, 'gateway/all.yaml'),
      everyKind.split('---')[0]!.replace('Customer support', 'Help'),
    );
    const held = await clone('apply', 'gateway', '--yes');
    expect(held.exitCode).toBe(4);
    expect(held.stdout).toContain('blocked Workspace/support');
    const printed = (text: string, label: string): string =>
      text.split('\n').flatMap((line) => line.split(label)[1] ?? [])[0]!;
    const shell = async (line: string): Promise<string> =>
      (await promisify(execFile)('sh', ['-c', line], { cwd: folder })).stdout;
    expect(await shell(printed(held.stdout, 'To write them now: '))).toContain('1 updated');
    expect(await shell(printed(made.stdout, 'To resume: '))).toBe(
      'owner gatewright, workspace support is resumed\n',
    );
    expect((await run('resume', 'support')).stdout).toContain('was not suspended');
    const whole = await run('suspend', '--reason', 'all', '-o', 'json');
    expect(JSON.parse(whole.stdout)).toMatchObject({ workspace: null, until: null, reason: 'all' });
    expect(row((await run('status')).stdout, /^gatewright +-/)).toContain('Suspended');
    expect((await run('resume')).exitCode).toBe(0);
  });

  it.each([
    ['--reason is needed', ['suspend']],
    [
      'is in the past: by the clock of the database',
      ['suspend', '--until', '2020-01-01T00:00:00Z', '--reason', 'x'],
    ],
    ['--until takes a time', ['suspend', '--until', 'tomorrow', '--reason', 'x']],
    ['--for takes a time', ['suspend', '--for', '2 days', '--reason', 'x']],
    ['expected 1 to 253', ['suspend', 'münchen', '--reason', 'x']],
    [
      'No sync has written as owner \\"nobody\\"',
      ['suspend', '--owner', 'nobody', '--reason', 'x'],
    ],
  ])('rejects invalid input with the reason: %s', async (message, words) => {
    const { exitCode, stderr } = await run(...words);
    expect([exitCode, stderr]).toEqual([
      5,
      expect.stringContaining(message.replaceAll('\\"', '"')),
    ]);
  });
});
