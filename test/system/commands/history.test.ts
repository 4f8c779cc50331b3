/** Tests history and rollback: what each run changed, and an older commit that stays. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TestServer } from '../../support/server/server.ts';
import { canaries, everyKind, startSyncServer } from '../../support/sync/sync-setup.ts';
import { type CliResult, runCli, sourceProgram } from './run-cli.ts';

let server: TestServer;
let folder: string;
let source: string;

beforeEach(async () => {
  server = await startSyncServer();
  folder = mkdtempSync(join(tmpdir(), 'gatewright-history-'));
  mkdirSync(join(folder, 'gw'));
  mkdirSync(join(folder, '.gatewright'));
  source = `file://${folder}/gw#main`;
  git('init', '--quiet', '--initial-branch=main');
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
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server[Symbol.asyncDispose]();
});

function git(...words: string[]): string {
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
  const env = { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  const options = { env, stdio: 'pipe', encoding: 'utf8' } as const;
  return execFileSync('git', ['-C', join(folder, 'gw'), ...who, ...words], options).trim();
}

function commit(text: string): string {
  writeFileSync(join(folder, 'gw/all.yaml'), text);
  git('add', '--all');
  git('commit', '--quiet', '--message=test');
  return git('rev-parse', 'HEAD');
}

function run(...words: string[]): Promise<CliResult> {
  return runCli(words, null, { cwd: folder, env: { ...canaries } });
}

/** Runs it in a clone, where printed commands name the clone's own program. */
function runClone(...words: string[]): Promise<CliResult> {
  return runCli(words, null, { cwd: folder, env: { ...canaries }, program: sourceProgram });
}

async function apply(text: string): Promise<string> {
  const id = commit(text);
  const { exitCode, stdout, stderr } = await run('apply', source, '--yes', '--allow-deletes', '9');
  expect([exitCode, stdout, stderr]).toEqual([0, expect.any(String), '']);
  return id;
}

const two = (attempts: number): string => `apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: support}
---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: routing, workspace: support}
spec: {config: {retry: {attempts: ${attempts}}}}
`;
const extra = `---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: more, workspace: support}
spec: {config: {retry: {attempts: 1}}}
`;

async function attempts(): Promise<number> {
  const rows = server.database.db.selectFrom('configs').select('config');
  const { config } = await rows.where('name', '=', 'routing').executeTakeFirstOrThrow();
  return JSON.parse(config).retry.attempts;
}

describe('history', () => {
  it('shows each run with its commit and change count, and one run with every resource and field, never a value', async () => {
    expect((await run('history')).stdout).toBe(
      'No run has changed anything as owner gatewright yet.\n',
    );
    const first = await apply(everyKind);
    const second = await apply(everyKind.replace('attempts: 3', 'attempts: 4'));
    const { stdout } = await run('history');
    const rows = stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(rows.slice(1, 3)).toEqual([
      ['2', expect.stringMatching(/^2.*Z$/), second.slice(0, 12), '1', 'success', source],
      ['1', expect.stringMatching(/^2.*Z$/), first.slice(0, 12), '9', 'success', source],
    ]);
    expect((await run('history', '-n', '1')).stdout.trim().split('\n')).toHaveLength(2);
    const one = await run('history', '2');
    expect(one.stdout).toContain(`  commit:    ${second}\n`);
    expect(one.stdout).toContain('\n~ update Config/support/routing: /config/retry/attempts\n');
    const whole =
      (await run('history', '1', '-o', 'json')).stdout + (await run('history', '1')).stdout;
    for (const canary of Object.values(canaries)) expect(whole).not.toContain(canary);
    expect(await run('history', '3')).toMatchObject({
      exitCode: 5,
      stderr: expect.stringContaining('has no revision 3 (any more): there are 1 to 2'),
    });
  });
});

describe('rollback', () => {
  it('applies the older commit, suspends to preserve it, and explains how to continue', async () => {
    const first = await apply(two(1));
    await apply(two(2) + extra);
    const done = await runClone('rollback', '1', '--yes');
    expect([done.exitCode, done.stderr]).toEqual([0, '']);
    expect(done.stdout).toContain('Applied: 1 updated, 1 deleted');
    expect(await attempts()).toBe(1);
    const displayed = await run('status');
    expect(displayed.stdout).toContain(`rolled back to revision 1 (commit ${first.slice(0, 12)})`);
    expect(displayed.stdout).toContain(` ${first.slice(0, 12)} (revision 1) `);
    const held = await run('sync', source, '--once');
    expect(held.exitCode).toBe(4);
    expect(await attempts()).toBe(1);
    const [line] = done.stdout.trim().split('\n').slice(-1);
    const { stdout } = await promisify(execFile)('sh', ['-c', line!], { cwd: folder });
    expect(stdout).toBe('owner gatewright is resumed\n');
    expect((await run('sync', source, '--once')).exitCode).toBe(0);
    expect(await attempts()).toBe(2);
    const { stdout: history } = await run('history', '-o', 'json');
    const commits = JSON.parse(history).revisions.map((one: { commit: string }) => one.commit);
    expect(commits.map((id: string) => id === first)).toEqual([false, true, false, true]);
  });

  it('suspends only the rolled back workspace, and nothing when nothing changes', async () => {
    await apply(two(1));
    await apply(two(2));
    const same = await run('rollback', '2', '--yes');
    expect(same.stdout).toContain('The server already matches revision 2; nothing was suspended.');
    const { stdout } = await run('rollback', '1', '--yes', '--workspace', 'support', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({
      exitCode: 0,
      rollback: {
        revision: 1,
        suspended: true,
        resume: [expect.stringContaining('resume support')],
      },
    });
    expect(await attempts()).toBe(1);
  });

  it('is refused by the guards before anything is suspended, with the command that overrides them', async () => {
    await apply(two(1));
    const many = Array.from({ length: 9 }, (_, at) => extra.replace('name: more', `name: c${at}`));
    await apply(two(1) + many.join(''));
    const refused = await runClone('rollback', '1', '--yes');
    expect(refused.exitCode).toBe(4);
    expect((await run('status')).stdout).not.toContain('suspended');
    const [, line] = /If that is meant: +(.*)/.exec(refused.stdout)!;
    const { stdout } = await promisify(execFile)('sh', ['-c', line!], { cwd: folder });
    expect(stdout).toContain('Applied: 9 deleted');
  });

  it('rejects a revision that was applied from a folder, and names revisions it can roll back to', async () => {
    writeFileSync(join(folder, 'gw/all.yaml'), two(1));
    expect((await run('apply', 'gw', '--yes')).exitCode).toBe(0);
    const { exitCode, stderr } = await run('rollback', '1', '--yes');
    expect(exitCode).toBe(5);
    expect(stderr).toContain('of its files only a digest is known');
    expect(stderr).toMatch(/apply .*gw\n/);
  });

  it('rejects a commit that the repository has lost, and changes nothing', async () => {
    await apply(two(1));
    await apply(two(2));
    git('checkout', '--quiet', '--orphan', 'other');
    commit(two(3));
    git('branch', '--quiet', '-D', 'main');
    git('reflog', 'expire', '--expire=now', '--all');
    git('gc', '--quiet', '--prune=now');
    rmSync(join(folder, '.gatewright/git'), { recursive: true, force: true });
    const { exitCode, stderr } = await run('rollback', '1', '--yes');
    expect([exitCode === 0, stderr]).toEqual([
      false,
      expect.stringContaining('The repository no longer has that commit'),
    ]);
    expect(await attempts()).toBe(2);
    expect((await run('status')).stdout).not.toContain('suspended');
  });

  it('asks for confirmation, and requires a terminal or --yes', async () => {
    await apply(two(1));
    const { exitCode, stderr } = await run('rollback', '1');
    expect([exitCode, stderr]).toEqual([
      5,
      expect.stringContaining('rollback asks for confirmation'),
    ]);
    expect((await run('rollback')).stderr).toContain('<revision> is missing');
    expect((await run('rollback', 'x', '--yes')).stderr).toContain(
      'takes the number of a revision',
    );
  });
});
