/** Tests that local repositories are read like remote ones, and that nothing in them runs. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import { openFolder } from '../../../src/sync/source/folder.ts';
import { openGit } from '../../../src/sync/source/git.ts';
import { parseGitLocation } from '../../../src/sync/source/git-location.ts';
import type { Source } from '../../../src/sync/source/source-files.ts';

let root: string;
/** A working tree whose name needs escaping in URLs and shells. */
let tree: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gatewright-local-git-'));
  tree = join(root, "My 'Repo' $(x)");
  mkdirSync(tree);
  git('init', '--quiet', '--initial-branch=main');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function git(...words: string[]): string {
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
  const env = { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  return execFileSync('git', ['-C', tree, ...who, ...words], { env, stdio: 'pipe' })
    .toString()
    .trim();
}

function commit(files: Record<string, string>): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), text);
  }
  git('add', '--all');
  git('commit', '--quiet', '--message=test');
  return git('rev-parse', 'HEAD');
}

function open(path = tree, fragment = ''): Source {
  return openGit(`file://${path}${fragment}`, { cacheDirectory: join(root, 'cache'), access: {} });
}

async function pathsOf(source: Source): Promise<string[]> {
  return (await source.read()).files.map(({ path }) => path);
}

async function messageOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error('expected a failure'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Failure);
  expect(error).toMatchObject({ kind: 'invalidInput' });
  return (error as Failure).message;
}

describe('a local repository', () => {
  it('is read at a branch, tag or commit, bare or not, and not from its working files', async () => {
    const first = commit({ 'gateway/a.yaml': 'a: 1\n' });
    git('tag', '--annotate', '--message=t', 'v1');
    commit({ 'gateway/b.yaml': 'b: 1\n' });
    writeFileSync(join(tree, 'gateway/uncommitted.yaml'), 'c: 1\n');
    const bare = join(root, 'bare.git');
    git('clone', '--quiet', '--bare', tree, bare);
    for (const path of [tree, bare]) {
      expect(await pathsOf(open(path, '#main:gateway'))).toEqual(['a.yaml', 'b.yaml']);
      expect(await pathsOf(open(path, '#v1:gateway'))).toEqual(['a.yaml']);
      expect(await pathsOf(open(path, `#${first}:gateway`))).toEqual(['a.yaml']);
    }
    expect((await open().newest()).revision).toBe(git('rev-parse', 'HEAD'));
    expect(await pathsOf(openFolder(tree, root))).toEqual([
      'gateway/a.yaml',
      'gateway/b.yaml',
      'gateway/uncommitted.yaml',
    ]);
  });

  it('is followed to each new commit, and accepts %20 in its path', async () => {
    const source = open(encodeURI(tree));
    commit({ 'a.yaml': 'a: 1\n' });
    expect((await source.read()).files[0]?.content.toString()).toBe('a: 1\n');
    commit({ 'a.yaml': 'a: 2\n' });
    expect((await source.read()).files[0]?.content.toString()).toBe('a: 2\n');
  });

  it('accepts a worktree of another repository', async () => {
    commit({ 'a.yaml': 'a: 1\n' });
    const other = join(root, 'other');
    git('worktree', 'add', '--quiet', '-b', 'side', other);
    expect(await pathsOf(open(other, '#side'))).toEqual(['a.yaml']);
  });

  it('rejects links and submodules in it, as everywhere', async () => {
    commit({ 'a.yaml': 'a: 1\n' });
    symlinkSync('/etc/passwd', join(tree, 'b.yaml'));
    git('add', 'b.yaml');
    git('update-index', '--add', '--cacheinfo', `160000,${'a'.repeat(40)},base`);
    git('commit', '--quiet', '--message=x');
    const { faults, files } = await open().read();
    expect(faults.map(({ code }) => code).sort()).toEqual(['submodule', 'symbolic-link']);
    expect(files.map(({ path }) => path)).toEqual(['a.yaml']);
  });
});

describe('a hostile repository', () => {
  const script = (marker: string): string => `#!/bin/sh\ntouch '${marker}'\ncat\n`;

  it('runs nothing: hooks, configured programs, and promised objects', async () => {
    commit({ 'a.yaml': 'a: 1\n', 'b.yaml': 'b: 1\n' });
    const markers = join(root, 'markers');
    mkdirSync(markers);
    const program = (name: string): string => {
      const path = join(root, `run-${name.replaceAll(/[^a-z]/gi, '-')}`);
      writeFileSync(path, script(join(markers, name.replaceAll('/', '-'))));
      chmodSync(path, 0o755);
      return path;
    };
    const hooks = join(tree, '.git/hooks');
    mkdirSync(hooks, { recursive: true });
    for (const hook of [
      'post-checkout',
      'pre-receive',
      'reference-transaction',
      'post-index-change',
    ]) {
      writeFileSync(join(hooks, hook), script(join(markers, hook)));
      chmodSync(join(hooks, hook), 0o755);
    }
    for (const setting of [
      'core.fsmonitor',
      'core.sshCommand',
      'core.gitProxy',
      'core.pager',
      'core.editor',
      'core.alternateRefsCommand',
      'core.askPass',
      'uploadpack.packObjectsHook',
      'credential.helper',
      'diff.external',
      'remote.origin.uploadpack',
      'remote.origin.vcs',
      'gpg.program',
      'filter.x.smudge',
      'filter.x.process',
      'trace2.eventTarget',
    ]) {
      git('config', setting, program(setting));
    }
    git('config', 'core.hooksPath', hooks);
    git('config', 'core.repositoryFormatVersion', '1');
    git('config', 'extensions.partialClone', 'origin');
    git('config', 'remote.origin.promisor', 'true');
    git('config', 'remote.origin.url', `ext::${program('url')} %S`);
    git('config', 'url.ext::sh.insteadOf', 'file://');
    // The blob of b.yaml is missing: git would fetch it from the remote above.
    const id =
      execFileSync('git', ['-C', tree, 'ls-tree', 'HEAD', 'b.yaml']).toString().split(/\s/)[2] ??
      '';
    rmSync(join(tree, '.git/objects', id.slice(0, 2), id.slice(2)));
    writeFileSync(join(tree, '.gitattributes'), '* filter=x diff=x\n');
    const work = open().read();
    await expect(work).rejects.toBeInstanceOf(Failure);
    await expect(open().newest()).resolves.toMatchObject({ digest: null });
    expect(readdirSync(markers)).toEqual([]);
  });

  it('exposes only objects that its own commits name', async () => {
    const secret = join(root, 'secret');
    execFileSync('git', ['init', '--quiet', secret]);
    writeFileSync(join(secret, 'x'), 'private');
    commit({ 'a.yaml': 'a: 1\n' });
    writeFileSync(
      join(tree, '.git/objects/info/alternates'),
      `${secret}/.git/objects\n/dev/zero\n`,
    );
    expect(await pathsOf(open())).toEqual(['a.yaml']);
    expect(existsSync(join(root, 'cache', 'reader.git/objects/info/alternates'))).toBe(false);
  });
});

describe('a rejected local repository', () => {
  it('rejects a repository of another user', async () => {
    commit({ 'a.yaml': 'a: 1\n' });
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) chownSync(join(tree, '.git'), 65534, 65534);
    const message = await messageOf(open(isRoot ? tree : '/usr').read());
    expect(message).toContain('belongs to another user');
    expect(message).toContain('git clone --bare');
  });

  it('rejects a folder that is no repository, or does not exist', async () => {
    expect(await messageOf(open(join(root, 'nowhere')).read())).toBe(
      `No such repository: ${join(root, 'nowhere')}`,
    );
    mkdirSync(join(root, 'plain'));
    const work = open(join(root, 'plain')).read();
    await expect(work).rejects.toThrow('Name the folder that contains .git, or a bare repository.');
  });

  it('rejects a bare repository named as a folder, and a ref behind a folder', async () => {
    commit({ 'a.yaml': 'a: 1\n' });
    const bare = join(root, 'bare.git');
    git('clone', '--quiet', '--bare', tree, bare);
    expect(await messageOf(openFolder('bare.git', root).read())).toContain(
      `bare.git is a Git repository without files; name it as file://`,
    );
    expect(await messageOf(openFolder('bare.git#main', root).read())).toBe(
      `No such file or folder: bare.git#main. A Git repository of this machine is file://${bare}#main`,
    );
  });

  it.each([
    'file://host/repo.git',
    'file://relative',
    'file:///a%00b',
    'file:///a%0ab',
    'file:///a%',
    'file:///a#--upload-pack=x',
    'file:///a#main:../b',
  ])('%s', (location) => {
    expect(() => parseGitLocation(location)).toThrow('The Git source cannot be used');
  });
});
