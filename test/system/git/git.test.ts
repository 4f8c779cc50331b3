/** Tests reading manifests from real repositories over real https. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import { Secret } from '../../../src/secret.ts';
import { openGit } from '../../../src/sync/source/git.ts';
import { isGitLocation, parseGitLocation } from '../../../src/sync/source/git-location.ts';
import type { Source } from '../../../src/sync/source/source-files.ts';
import { filesMax } from '../../../src/sync/source/source-files.ts';
import { type GitServer, startGitServer } from '../../support/git/git-server.ts';
import { type SharedGit, shareGit } from './shared-git.ts';

let server: GitServer;
let cacheDirectory: string;
let newRepository: SharedGit['newRepository'];

shareGit((shared) => {
  ({ server, folder: cacheDirectory, newRepository } = shared);
});

function open(location: string, options: { token?: string; timeoutMs?: number } = {}): Source {
  const { token, timeoutMs } = options;
  const access = {
    caFile: server.caFile,
    token: token === undefined ? undefined : new Secret(token, 'test'),
  };
  return openGit(location, { cacheDirectory, access, timeoutMs });
}

async function failureOf(work: Promise<unknown>): Promise<Failure> {
  const outcome = await work.then(
    () => new Error('expected a failure'),
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(Failure);
  return outcome as Failure;
}

describe('reading', () => {
  it('yields the manifests of a folder at a branch, pinned to its commit', async () => {
    const repository = newRepository();
    const files = { 'gateway/b.yaml': 'b: 1\n', 'gateway/sub/a.json': '{}', 'gateway/x.txt': 'x' };
    const commit = repository.commit('main', { ...files, 'other.yaml': 'o: 1\n' });
    const source = open(`${repository.url}#main:gateway`);
    const read = await source.read();
    expect(read.files.map(({ path, content }) => [path, content.toString()])).toEqual([
      ['b.yaml', 'b: 1\n'],
      ['sub/a.json', '{}'],
    ]);
    expect(read.faults).toEqual([]);
    expect(read.info).toMatchObject({ repo: `${repository.url}#main:gateway`, revision: commit });
  });

  it('skips the files that .gatewrightignore lists, in each folder, and reports them', async () => {
    const repository = newRepository();
    repository.commit('main', {
      'gateway/.gatewrightignore': '*.json\n!keep.json\nvendor/\nlink\n',
      'gateway/vendor/.gatewrightignore': '[never read\n',
      'gateway/vendor/a.yaml': 'a: 1\n',
      'gateway/team/.gatewrightignore': '/ci.yaml\n',
      'gateway/team/ci.yaml': 'a: 1\n',
      'gateway/team/b.yaml': 'a: 1\n',
      'gateway/plan.json': '{}',
      'gateway/keep.json': '{}',
      'gateway/link': { mode: '120000', content: '/etc' },
      '.gatewrightignore': '*\n',
    });
    const read = await open(`${repository.url}#main:gateway`).read();
    expect(read.files.map(({ path }) => path)).toEqual(['keep.json', 'team/b.yaml']);
    expect(read.faults).toEqual([]);
    expect(read.ignored).toEqual(['link', 'plan.json', 'team/ci.yaml', 'vendor/']);
    const all = await open(repository.url).read();
    expect([all.files, all.ignored]).toEqual([[], ['gateway/']]);
  });

  it('rejects wrong ignore rules with their position', async () => {
    const repository = newRepository();
    repository.commit('main', {
      'a/.gatewrightignore': 'x\n[b\n',
      'b/.gatewrightignore': { mode: '120000', content: '../a' },
    });
    const { faults } = await open(repository.url).read();
    expect(faults.map(({ position, code }) => `${position.file}:${position.line} ${code}`)).toEqual(
      ['b/.gatewrightignore:1 symbolic-link', 'a/.gatewrightignore:2 ignore-file'],
    );
  });

  it('follows the branch to each new commit, also after a force-push', async () => {
    const repository = newRepository();
    const source = open(repository.url);
    const first = repository.commit('main', { 'a.yaml': 'a: 1\n' });
    expect(await source.newest()).toEqual({ digest: null, revision: first });
    const one = await source.read();
    const second = repository.commit('main', { 'a.yaml': 'a: 2\n' }, 'force');
    expect(await source.newest()).toEqual({ digest: null, revision: second });
    const two = await source.read();
    expect(two.files[0]?.content.toString()).toBe('a: 2\n');
    expect(two.info.digest).not.toBe(one.info.digest);
  });

  it('does not fetch again what it has', async () => {
    const repository = newRepository();
    repository.commit('main', { 'a.yaml': 'a: 1\n' });
    const source = open(repository.url);
    await source.read();
    const before = server.requests.length;
    await source.read();
    const lines = server.requests.slice(before).map(({ line }) => line);
    expect(lines.filter((line) => line.includes('/info/refs')).length).toBe(1);
  });

  it.each(['v1.0', 'commit id'])('reads a tag and a commit id: %s', async (ref) => {
    const repository = newRepository();
    const commit = repository.commit('main', { 'a.yaml': 'a: 1\n' });
    repository.git(['tag', '-a', 'v1.0', '-m', 'one', commit]);
    repository.commit('main', { 'a.yaml': 'a: 2\n' });
    const read = await open(`${repository.url}#${ref === 'v1.0' ? ref : commit}`).read();
    expect(read.info.revision).toBe(commit);
    expect(read.files[0]?.content.toString()).toBe('a: 1\n');
  });

  it('ignores the settings of a working tree that contains the cache', async () => {
    const repository = newRepository();
    repository.commit('main', { 'a.yaml': 'a: 1\n' });
    const tree = mkdtempSync(join(cacheDirectory, 'tree-'));
    const git = (...words: string[]) => execFileSync('git', ['-C', tree, ...words]);
    git('init', '--quiet');
    git('config', 'url.https://elsewhere.invalid/.insteadOf', repository.url);
    const access = { caFile: server.caFile };
    const source = openGit(repository.url, { cacheDirectory: join(tree, 'cache'), access });
    expect((await source.read()).files[0]?.content.toString()).toBe('a: 1\n');
  });

  it('reads ten thousand files', async () => {
    const repository = newRepository();
    const tree = Array.from({ length: 10_000 }, (_, at) => at);
    const id = repository.git(['hash-object', '-w', '--stdin'], 'a: 1\n');
    const listing = tree.map((at) => `100644 blob ${id}\tf${at}.yaml\n`).join('');
    const commit = repository.git(['commit-tree', repository.git(['mktree'], listing), '-m', 'x']);
    repository.git(['update-ref', 'refs/heads/main', commit]);
    expect((await open(repository.url).read()).files.length).toBe(10_000);
  });
});

describe('rejected sources', () => {
  it.each([
    ['a link to a file', { mode: '120000', content: '/etc/passwd' }, 'x.yaml', 'symbolic-link'],
    ['a link to a folder', { mode: '120000', content: '../..' }, 'prod', 'symbolic-link'],
    ['a submodule', { mode: '160000', content: 'a'.repeat(40) }, 'base', 'submodule'],
  ])('reports %s as a fault, and does not read its target', async (_, file, path, code) => {
    const repository = newRepository();
    repository.commit('main', { 'a.yaml': 'a: 1\n', [path]: file });
    const { files, faults } = await open(repository.url).read();
    expect(faults.map((fault) => [fault.code, fault.position.file])).toEqual([[code, path]]);
    expect(files.map((one) => one.path)).toEqual(['a.yaml']);
  });

  it('ignores a link to a file that cannot be a manifest, and rejects one that may lead to manifests', async () => {
    const repository = newRepository();
    const link = (content: string) => ({ mode: '120000', content });
    repository.commit('main', {
      'gateway/a.yaml': 'a: 1\n',
      'AGENTS.md': 'x\n',
      'gateway/sub/b.yaml': 'b: 1\n',
      'gateway/README.md': link('../AGENTS.md'),
      'gateway/sub/twice.md': link('../README.md'),
      'gateway/folder.md': link('sub'),
      'gateway/gone': link('nowhere\nblob'),
      'gateway/loop': link('loop'),
      'gateway/out.md': link('../../etc/passwd'),
      'gateway/x.yaml': link('a.yaml'),
    });
    const { files, faults } = await open(`${repository.url}#main:gateway`).read();
    expect(faults.map(({ position }) => position.file)).toEqual(
      expect.arrayContaining(['folder.md', 'gone', 'loop', 'out.md', 'x.yaml']),
    );
    expect(faults.length).toBe(5);
    expect(files.map(({ path }) => path)).toEqual(['a.yaml', 'sub/b.yaml']);
  });

  it('rejects a file that is deeper than folders permit', async () => {
    const repository = newRepository();
    const folders = (count: number): string => 'd/'.repeat(count);
    repository.commit('main', { [`${folders(50)}a.yaml`]: 'a: 1\n' });
    expect(await open(repository.url).read()).toMatchObject({ faults: [], files: [{}] });
    repository.commit('main', { [`${folders(51)}b.yaml`]: 'b: 1\n' });
    expect((await open(repository.url).read()).faults).toMatchObject([{ code: 'folder-depth' }]);
  });

  it.each(['..', '.git', '.GIT', '.'])('rejects a tree with an entry named %s', async (name) => {
    const repository = newRepository();
    const blob = repository.git(['hash-object', '-w', '--stdin'], 'a: 1\n');
    const inner = treeOf('100644', 'a.yaml', blob);
    const literally = ['hash-object', '-t', 'tree', '-w', '--literally', '--stdin'];
    const innerId = repository.git(literally, inner);
    const outer = repository.git(literally, treeOf('40000', name, innerId));
    const commit = repository.git(['commit-tree', outer, '-m', 'x']);
    repository.git(['update-ref', 'refs/heads/main', commit]);
    const failure = await failureOf(open(repository.url).read());
    expect(failure.kind).toBe('unreachable');
  });

  it('rejects names that differ in case only', async () => {
    const repository = newRepository();
    repository.commit('main', { 'a.yaml': 'a: 1\n', 'A.yaml': 'a: 2\n' });
    const { faults } = await open(repository.url).read();
    expect(faults.map(({ code }) => code)).toEqual(['case-twin']);
  });

  it('rejects a file beyond the size limit without transferring it', async () => {
    const repository = newRepository();
    const large = `# ${'x'.repeat(3 * 1024 * 1024)}\n`;
    repository.commit('main', { 'a.yaml': 'a: 1\n', 'large.yaml': large });
    const { faults, files } = await open(repository.url).read();
    expect(faults.map(({ code, position }) => [code, position.file])).toEqual([
      ['file-too-large', 'large.yaml'],
    ]);
    expect(files.map(({ path }) => path)).toEqual(['a.yaml']);
  });

  it('rejects more files than the limit', async () => {
    const repository = newRepository();
    const id = repository.git(['hash-object', '-w', '--stdin'], 'a: 1\n');
    const listing = Array.from(
      { length: filesMax + 1 },
      (_, at) => `100644 blob ${id}\tf${at}.yaml\n`,
    );
    const tree = repository.git(['mktree'], listing.join(''));
    const commit = repository.git(['commit-tree', tree, '-m', 'x']);
    repository.git(['update-ref', 'refs/heads/main', commit]);
    expect((await failureOf(open(repository.url).read())).kind).toBe('invalidInput');
  });

  it('rejects a branch, a folder or a repository that does not exist', async () => {
    const repository = newRepository();
    repository.commit('production', { 'a.yaml': 'a: 1\n' });
    const branch = await failureOf(open(`${repository.url}#productoin`).read());
    expect(branch.kind).toBe('invalidInput');
    expect(branch.message).toContain('did you mean "production"?');
    const folder = await failureOf(open(`${repository.url}#production:gateway`).read());
    expect(folder.kind).toBe('invalidInput');
    expect(folder.message).toContain('no folder "gateway"');
    const gone = await failureOf(open(`${repository.url}x`).newest());
    expect(gone.kind).toBe('unreachable');
  });

  it('rejects a server whose certificate is not trusted', async () => {
    const repository = newRepository();
    const source = openGit(repository.url, { cacheDirectory, access: {} });
    const failure = await failureOf(source.newest());
    expect(failure.kind).toBe('unreachable');
    expect(failure.message).toContain('certificate');
  });

  it('rejects a server that does not respond before the deadline', async () => {
    const repository = newRepository();
    server.silent = true;
    const failure = await failureOf(open(repository.url, { timeoutMs: 300 }).newest());
    server.silent = false;
    expect(failure.kind).toBe('unreachable');
    expect(failure.message).toContain('did not finish');
  });
});

describe('credentials', () => {
  it('sends credentials only to the server that requests them, and shows them in no message', async () => {
    const repository = newRepository();
    const commit = repository.commit('main', { 'a.yaml': 'a: 1\n' });
    server.token = 'canary-4711';
    try {
      const good = open(repository.url, { token: 'canary-4711' });
      expect(await good.newest()).toEqual({ digest: null, revision: commit });
      const bad = await failureOf(open(repository.url, { token: 'canary-4712' }).newest());
      expect(bad.kind).toBe('unreachable');
      expect(bad.message).toContain('not accepted');
      expect(bad.message).not.toContain('canary');
      expect((await failureOf(open(repository.url).newest())).kind).toBe('unreachable');
    } finally {
      server.token = undefined;
    }
  });

  it('sends no credentials to the target of a redirect', async () => {
    await using other = await startGitServer();
    const repository = newRepository();
    const trap = other.repository('trap');
    server.redirectTo = new URL(trap.url).origin;
    try {
      const failure = await failureOf(open(repository.url, { token: 'canary-4711' }).newest());
      expect(failure.kind).toBe('unreachable');
      expect(other.requests).toEqual([]);
    } finally {
      server.redirectTo = undefined;
    }
  });
});

describe('locations', () => {
  const marker = join(tmpdir(), `gatewright-marker-${process.pid}`);

  it.each([
    '--upload-pack=touch /tmp/x',
    'https://-oProxyCommand=x/repo.git',
    'ssh://-oProxyCommand=x/repo.git',
    `ext::sh -c touch% ${marker}`,
    'git://example.com/repo.git',
    'http://example.com/repo.git',
    'https://user:pass@example.com/repo.git',
    'https://token@example.com/repo.git',
    'ssh://git:pass@example.com/repo.git',
    'https://example.com/../repo.git',
    'https://example.com/repo.git?x=1',
    'https://exam ple.com/repo.git',
    'https://example.com/repo.git#--upload-pack=x',
    'https://example.com/repo.git#-x',
    'https://example.com/repo.git#a..b',
    'https://example.com/repo.git#a.lock',
    'https://example.com/repo.git#main:../etc',
    'https://example.com/repo.git#main:a/../../etc',
    'https://example.com/repo.git#main:.git',
    'https://example.com/repo.git#main:-x',
    'https://example.com/repo.git\n#main',
    'git@-oProxyCommand=x:repo.git',
  ])('rejects %j, and runs nothing', (location) => {
    expect(() => parseGitLocation(location)).toThrow(Failure);
    expect(existsSync(marker)).toBe(false);
  });

  it('never repeats a credential', () => {
    for (const location of ['https://user:canary@h/r.git', 'ssh://git:canary@h/r.git']) {
      expect(() => parseGitLocation(location)).toThrow(/^(?!.*canary)/s);
    }
  });

  it.each([
    ['https://h.example/team/repo.git', { ref: null, path: '' }],
    ['https://h.example:8443/repo.git#main', { ref: 'main', path: '' }],
    [
      'https://h.example/repo.git#release/1.2:gateway/prod/',
      { ref: 'release/1.2', path: 'gateway/prod' },
    ],
    ['ssh://git@h.example/repo.git#:gateway', { ref: null, path: 'gateway' }],
    ['git@h.example:team/repo.git#main', { url: 'ssh://git@h.example/team/repo.git', ref: 'main' }],
  ])('accepts %s', (location, parts) => {
    expect(isGitLocation(location)).toBe(true);
    expect(parseGitLocation(location)).toMatchObject(parts);
  });

  it.each(['gateway', './gateway', '/srv/gateway', 'a@b/c.yaml', 'C:/gateway', '-'])(
    'treats %s as a folder or file',
    (location) => expect(isGitLocation(location)).toBe(false),
  );
});

/** A tree object with one entry of any name, in git's own format. */
function treeOf(mode: string, name: string, id: string): Buffer {
  return Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]);
}
