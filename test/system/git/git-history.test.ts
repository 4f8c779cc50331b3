/** Tests that descent and rewritten history are distinguished, cheaply, whatever the cache contains. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openGit } from '../../../src/sync/source/git.ts';
import type { Descent, Source } from '../../../src/sync/source/source-files.ts';
import type { GitServer } from '../../support/git/git-server.ts';
import { type Repository, type SharedGit, shareGit } from './shared-git.ts';

let server: GitServer;
let folder: string;
let newRepository: SharedGit['newRepository'];

shareGit((shared) => {
  ({ server, folder, newRepository } = shared);
});

function open(location: string, cache = 'cache'): Source {
  const cacheDirectory = join(folder, cache);
  return openGit(location, { cacheDirectory, access: { caFile: server.caFile } });
}

async function descentOf(source: Source, earlier: string): Promise<Descent> {
  const { info } = await source.read();
  return await source.descent!(earlier, info.revision!);
}

/** Adds this many commits to a branch at once. */
function addCommits(repository: Repository, branch: string, count: number): void {
  const tip = repository.git(['rev-parse', branch]);
  const tree = repository.git(['rev-parse', `${branch}^{tree}`]);
  const lines = Array.from({ length: count }, (_, at) => {
    const from = at === 0 ? `from ${tip}\n` : '';
    const head = `commit refs/heads/${branch}\ncommitter t <t@example.com> ${1_600_000_000 + at} +0000`;
    return `${head}\ndata 1\nx\n${from}\n`;
  });
  repository.git(['fast-import', '--quiet', '--force'], lines.join(''));
  expect(repository.git(['rev-parse', `${branch}^{tree}`])).toBe(tree);
}

describe('a commit', () => {
  it('descends from itself, its parent and merged commits', async () => {
    const repository = newRepository();
    const first = repository.commit('main', { 'a.yaml': 'a: 1\n' });
    const side = repository.commit('side', { 'a.yaml': 'a: 2\n' });
    const second = repository.commit('main', { 'a.yaml': 'a: 3\n' });
    const tree = repository.git(['rev-parse', 'main^{tree}']);
    const words = ['commit-tree', tree, '-p', second, '-p', side, '-m', 'merge'];
    const merge = repository.git(words);
    repository.git(['update-ref', 'refs/heads/main', merge]);
    const source = open(repository.url);
    for (const earlier of [first, side, second, merge]) {
      expect(await descentOf(source, earlier)).toBe('descendant');
    }
  });

  it('does not descend from a commit that a forced push removed, nor from a newer one', async () => {
    const repository = newRepository();
    const first = repository.commit('main', { 'a.yaml': 'a: 1\n' });
    const second = repository.commit('main', { 'a.yaml': 'a: 2\n' });
    const source = open(repository.url);
    expect(await descentOf(source, first)).toBe('descendant');
    repository.git(['update-ref', 'refs/heads/main', first]);
    expect(await descentOf(source, second)).toBe('unrelated');
    repository.commit('main', { 'a.yaml': 'a: 3\n' }, 'force');
    for (const earlier of [first, second, 'a'.repeat(40)]) {
      expect(await descentOf(source, earlier)).toBe('unrelated');
      expect(await descentOf(open(repository.url, 'other'), earlier)).toBe('unrelated');
    }
  });

  it('is recognised as descending from a commit a thousand commits back, with or without a cache', async () => {
    const repository = newRepository();
    const first = repository.commit('main', { 'a.yaml': 'a: 1\n' });
    addCommits(repository, 'main', 900);
    expect(await descentOf(open(repository.url, 'fresh'), first)).toBe('descendant');
    const source = open(repository.url);
    expect(await descentOf(source, first)).toBe('descendant');
    addCommits(repository, 'main', 5);
    expect(await descentOf(source, first)).toBe('descendant');
    repository.commit('other', { 'a.yaml': 'a: 1\n' }, 'force');
    const other = repository.git(['rev-parse', 'other']);
    expect(await descentOf(source, other)).toBe('unrelated');
  });

  it('is reported as unproven when the ancestor is beyond the searched depth', async () => {
    const repository = newRepository();
    const first = repository.commit('main', { 'a.yaml': 'a: 1\n' });
    addCommits(repository, 'main', 16_500);
    expect(await descentOf(open(repository.url), first)).toBe('unproven');
  });

  it('costs two requests, and no tree or file, when the ancestor is near', async () => {
    const repository = newRepository();
    const first = repository.commit('main', { 'a.yaml': 'a: 1\n' });
    const source = open(repository.url);
    expect(await descentOf(source, first)).toBe('descendant');
    const second = repository.commit('main', { 'a.yaml': 'a: 2\n' });
    await source.read();
    const before = server.requests.length;
    expect(await source.descent!(first, second)).toBe('descendant');
    const lines = server.requests.slice(before).map(({ line }) => line.replace(/\?.*/, ''));
    expect(lines.filter((line) => line.endsWith('/info/refs')).length).toBe(1);
    const packs = lines.filter((line) => line.endsWith('/git-upload-pack')).length;
    expect(packs).toBeLessThanOrEqual(2);
    expect(await source.descent!(first, second)).toBe('descendant');
    expect(server.requests.length).toBe(before + lines.length);
  });
});
