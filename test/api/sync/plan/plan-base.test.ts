/**
 * Verifies that a plan of a branch shows what the branch adds, and counts all other changes
 * separately.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type CommandResult,
  runWords,
  writeCredentials,
} from '../../../support/server/command-line.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { startSyncServer } from '../../../support/sync/sync-setup.ts';

let server: TestServer;
/** A working tree. */
let tree: string;
/** A separate name for each test, so that one server is enough. */
let name = '';
let count = 0;

beforeAll(async () => {
  server = await startSyncServer();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});
beforeEach(() => {
  count += 1;
  name = `w${count}`;
  tree = mkdtempSync(join(tmpdir(), 'gatewright base '));
  writeCredentials(tree, server);
  writeFileSync(join(tree, '.env'), `GATEWRIGHT_OWNER=team-${count}\n`);
  git('init', '--quiet', '--initial-branch=main');
  return () => rmSync(tree, { recursive: true, force: true });
});

function git(...words: string[]): string {
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
  const env = { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  return execFileSync('git', ['-C', tree, ...who, ...words], { env, stdio: 'pipe' })
    .toString()
    .trim();
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(tree, path)), { recursive: true });
  writeFileSync(join(tree, path), text);
}

function commit(): string {
  git('add', 'gateway');
  git('commit', '--quiet', '--message=test');
  return git('rev-parse', 'HEAD');
}

const run = (...words: string[]): Promise<CommandResult> => runWords(words, tree);

const workspace = () => `
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: ${name}}
---`;
const config = (own: string, fields: object) => `
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: ${own}, workspace: ${name}}
spec: ${JSON.stringify(fields)}
---`;
const target = (weight: number) => ({ config: { targets: [{ provider: 'openai', weight }] } });

/** Changes a config on the server as another user. */
async function meddle(own: string, body: object): Promise<void> {
  const all = await server.request('GET', `/admin/v2/gatewright/snapshot?owner=team-${count}`);
  const found = (
    all.body.resources as {
      kind: string;
      id: string;
      managed_by: { workspace: string; name: string } | null;
    }[]
  ).find(
    ({ kind, managed_by: by }) => kind === 'Config' && by?.workspace === name && by.name === own,
  );
  const { status } = await server.request('PUT', `/v2/configs/${found?.id}`, { body });
  expect(status).toBe(200);
}

/**
 * Applies main; then others change `drifting` on the server, and main gets one unapplied change.
 */
async function standing(): Promise<string> {
  write(
    'gateway/all.yaml',
    workspace() + config('drifting', target(1)) + config('steady', target(1)),
  );
  commit();
  expect((await run('apply', 'gateway', '--yes')).exitCode).toBe(0);
  await meddle('drifting', { name: 'by hand' });
  write('gateway/waiting.yaml', config('waiting', target(1)));
  return commit();
}

describe('plan --base', () => {
  it('shows only the changes of the branch, and counts those of main including drift', async () => {
    const main = await standing();
    write('gateway/new.yaml', config('added', target(5)));
    const { exitCode, stdout, stderr } = await run('plan', 'gateway', '--base', 'main');
    expect(stderr).toBe('');
    expect(exitCode).toBe(2);
    expect(stdout).toBe(`\
+ create Config/${name}/added  gateway/new.yaml:2:1
    + spec.config.targets[0].provider: "openai"
    + spec.config.targets[0].weight: 5
    + spec.name: "added"
    + spec.slug: "added"
    + metadata.workspace: Workspace/${name}

Plan: 1 to create; 2 unchanged.
compared with main (${main.slice(0, 12)}), which already has: 2 changes, 1 of them drift
`);
    const wide = await run('plan', 'gateway', '--base', 'main', '-o', 'wide');
    expect(wide.stdout).toContain(`by main as well:\n~ update Config/${name}/drifting  drift`);
    expect(wide.stdout).toContain(`+ create Config/${name}/waiting`);
    const json = await run('plan', 'gateway', '--base', 'main', '-o', 'json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      summary: { create: 1, update: 0 },
      changes: [{ id: `Config/${name}/added` }],
      baseline: {
        ref: 'main',
        commit: main,
        blocked: 0,
        undone: [],
        changes: [
          { id: `Config/${name}/drifting`, reason: 'drift' },
          { id: `Config/${name}/waiting`, action: 'create' },
        ],
      },
    });
    const markdown = await run('plan', 'gateway', '--base', 'main', '-o', 'markdown');
    expect(markdown.stdout).toContain(`@@ create Config/${name}/added @@`);
    expect(markdown.stdout).toContain('which already has: 2 changes, 1 of them drift');
    expect(markdown.stdout).not.toContain(`Config/${name}/waiting`);
  });

  it('ends with 0 when the branch adds nothing, whatever main changes', async () => {
    await standing();
    const { exitCode, stdout } = await run('plan', 'gateway', '--base', 'HEAD');
    expect(stdout).toContain('Plan: no changes; 2 unchanged.');
    expect(exitCode).toBe(0);
  });

  it('shows of one resource the fields that the branch adds, and names what it reverts', async () => {
    await standing();
    write('gateway/waiting.yaml', '# nothing any more\n');
    const drifting = config('drifting', target(9));
    write('gateway/all.yaml', workspace() + drifting + config('steady', target(1)));
    const { stdout } = await run('plan', 'gateway', '--base', 'main');
    expect(stdout).toContain(`\
    ~ spec.config.targets[0].weight: 1 → 9
`);
    expect(stdout).not.toContain('by hand');
    expect(stdout).toMatch(
      new RegExp(
        `1 change of main \\([0-9a-f]{12}\\) no longer planned: create Config/${name}/waiting\n`,
      ),
    );
  });

  it('treats a missing folder or an invalid plan of main as an empty plan', async () => {
    const first = await standing();
    write(
      'other/all.yaml',
      config('added', target(1)).replace(name, `${name}x`) + workspace().replace(name, `${name}x`),
    );
    const fresh = await run('plan', 'other', '--no-prune', '--base', first);
    expect(fresh.stdout).toContain(`+ create Config/${name}x/added`);
    expect(fresh.exitCode).toBe(2);
    write('gateway/bad.yaml', 'a: b: c\n');
    write('gateway/all.yaml', 'kind: [\n');
    write('gateway/waiting.yaml', 'kind: [\n');
    commit();
    git('rm', '--quiet', 'gateway/bad.yaml');
    write('gateway/waiting.yaml', '# nothing\n');
    write('gateway/all.yaml', workspace() + config('steady', target(2)));
    const mended = await run('plan', 'gateway', '--no-prune', '--base', 'HEAD');
    expect(mended.stdout).toContain('spec.config.targets[0].weight: 1 → 2');
    expect(mended.stdout).toContain(
      'warning: at HEAD the manifests cannot be planned, so that everything counts as added: ',
    );
    expect(mended.exitCode).toBe(2);
  });

  it('returns exit code 5 for a source without versions or without that version', async () => {
    await standing();
    const cases: [string[], RegExp][] = [
      [['gateway', '--base', 'nowhere'], /--base: nowhere is not a commit of .*; a shallow clone/],
      [['gateway', '--base=--all'], /--base: --all is not a commit of /],
      [['-', '--base', 'main'], /--base: standard input has no other version; name a folder/],
      [
        ['gateway/all.yaml', '--base', 'main'],
        /--base: .*all.yaml is a file; name its folder, and select a part of it by --workspace/,
      ],
      [['away', '--base', 'main'], /--base: there is no folder .*away\./],
      [['/', '--base', 'main'], /--base: \/ is not in a Git working tree/],
      [['gateway', '--base', 'main', '--out', 'x.plan'], /--base and --out exclude each other/],
      [
        [`file://${encodeURI(tree)}#main:gateway`, '--base', 'nowhere'],
        /no branch or tag "nowhere"/,
      ],
    ];
    for (const [words, reported] of cases) {
      const { exitCode, stderr } = await run('plan', ...words);
      expect(stderr).toMatch(reported);
      expect(exitCode).toBe(5);
    }
  });

  it('compares two commits of a Git source as well', async () => {
    const main = await standing();
    git('checkout', '--quiet', '-b', 'feature');
    write('gateway/new.yaml', config('added', target(5)));
    commit();
    const location = `file://${encodeURI(tree)}#feature:gateway`;
    const { stdout, stderr, exitCode } = await run('plan', location, '--base', 'main');
    expect(stderr).toBe('');
    expect(stdout).toContain(`+ create Config/${name}/added  new.yaml:2:1`);
    expect(stdout).toContain(
      `compared with main (${main.slice(0, 12)}), which already has: 2 changes`,
    );
    expect(exitCode).toBe(2);
  });

  it('works in a shallow clone with a fetched base, and in a linked working tree', async () => {
    await standing();
    git('checkout', '--quiet', '-b', 'feature');
    write('gateway/new.yaml', config('added', target(5)));
    commit();
    const shallow = join(tree, 'shallow');
    git('clone', '--quiet', '--depth=1', '--branch=feature', `file://${encodeURI(tree)}`, shallow);
    git('-C', shallow, 'fetch', '--quiet', '--depth=1', 'origin', 'main');
    git('worktree', 'add', '--quiet', join(tree, 'linked'), '-b', 'other');
    for (const [folder, base] of [
      ['shallow/gateway', 'FETCH_HEAD'],
      ['linked/gateway', 'main'],
    ] as const) {
      const { stdout, stderr } = await run('plan', folder, '--base', base);
      expect(stderr).toBe('');
      expect(stdout).toContain('Plan: 1 to create; 2 unchanged.');
      expect(stdout).toContain('which already has: 2 changes, 1 of them drift');
    }
  });
});
