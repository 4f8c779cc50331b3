/** Tests that a hostile repository costs bounded time, memory and disk, and that a killed fetch does not block later ones. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import { openGit } from '../../../src/sync/source/git.ts';
import type { Source } from '../../../src/sync/source/source-files.ts';
import { type GitServer, startGitServer } from '../../support/git/git-server.ts';
import { eventually } from '../../support/server/eventually.ts';

type Repository = ReturnType<GitServer['repository']>;

let server: GitServer;
let folder: string;
let names = 0;

beforeAll(async () => {
  server = await startGitServer();
  folder = mkdtempSync(join(tmpdir(), 'gw-hostile-'));
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function newRepository(): Repository {
  names += 1;
  return server.repository(`hostile-${names}`);
}

function open(
  location: string,
  bounds: { fetchBytesMax?: number; timeoutMs?: number; signal?: AbortSignal } = {},
): Source {
  const cacheDirectory = join(folder, `cache-${names}`);
  return openGit(location, { cacheDirectory, access: { caFile: server.caFile }, ...bounds });
}

async function failureOf(source: Source): Promise<Failure> {
  const outcome = await source.read().then(
    () => new Error('expected a failure'),
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(Failure);
  return outcome as Failure;
}

function point(repository: Repository, ref: string, id: string): void {
  repository.git(['update-ref', ref, id]);
}

function commitTree(repository: Repository, tree: string): void {
  point(repository, 'refs/heads/main', repository.git(['commit-tree', tree, '-m', 'x']));
}

describe('a hostile repository', () => {
  it('is rejected when a hundred objects stand for ten thousand million files', async () => {
    const repository = newRepository();
    let id = repository.git(['hash-object', '-w', '--stdin'], 'a: 1\n');
    let kind = '100644 blob';
    for (let level = 0; level < 10; level += 1) {
      const entry = (at: number): string => `${kind} ${id}\td${at}${level === 0 ? '.yaml' : ''}\n`;
      id = repository.git(['mktree'], Array.from({ length: 10 }, (_, at) => entry(at)).join(''));
      kind = '040000 tree';
    }
    commitTree(repository, id);
    const failure = await failureOf(open(repository.url));
    expect(failure.kind).toBe('invalidInput');
    expect(failure.message).toContain('more files than can be read');
  });

  it('is rejected when its folders are three hundred deep', async () => {
    const repository = newRepository();
    repository.commit('main', { [`${'d/'.repeat(300)}a.yaml`]: 'a: 1\n' });
    const { files, faults } = await open(repository.url).read();
    expect(files).toEqual([]);
    expect(faults).toMatchObject([{ message: 'more than 50 folders deep' }]);
  });

  it('is read without a huge file that it sends although the fetch excludes it', async () => {
    const repository = newRepository();
    repository.git(['config', 'uploadpack.allowFilter', 'false']);
    const large = Buffer.alloc(96 * 1024 * 1024);
    repository.commit('main', { 'a.yaml': 'a: 1\n' });
    const blob = repository.git(['hash-object', '-w', '--stdin'], large);
    const small = repository.git(['rev-parse', 'main:a.yaml']);
    const lines = `100644 blob ${small}\ta.yaml\n100644 blob ${blob}\tzeros.yaml\n`;
    commitTree(repository, repository.git(['mktree'], lines));
    const { files, faults } = await open(repository.url).read();
    expect(files.map(({ path }) => path)).toEqual(['a.yaml']);
    expect(faults.map(({ code }) => code)).toEqual(['file-too-large']);
  });

  it('is cut off when it sends more than a fetch may contain', async () => {
    const repository = newRepository();
    const files = Array.from({ length: 8 }, (_, at) => [`f${at}.yaml`, noise()] as const);
    repository.commit('main', Object.fromEntries(files));
    const failure = await failureOf(open(repository.url, { fetchBytesMax: 2 * 1024 * 1024 }));
    expect(failure.kind).toBe('invalidInput');
    expect(failure.message).toContain('more than 2 MiB');
    const packs = join(folder, `cache-${names}`);
    const left = readdirSync(packs, { recursive: true, encoding: 'utf8' });
    expect(left.filter((path) => path.includes('tmp_pack'))).toEqual([]);
    expect((await open(repository.url).read()).files.length).toBe(8);
  });

  it.each(['blob', 'tree'])(
    'is rejected with a clear message when its tag points to a %s',
    async (kind) => {
      const repository = newRepository();
      repository.commit('main', { 'a.yaml': 'a: 1\n' });
      const name = kind === 'blob' ? 'main:a.yaml' : 'main^{tree}';
      const id = repository.git(['rev-parse', name]);
      repository.git(['tag', '-a', '-m', 'x', 'v1', id]);
      point(repository, 'refs/tags/plain', id);
      for (const tag of ['v1', 'plain']) {
        const failure = await failureOf(open(`${repository.url}#${tag}`));
        expect(failure.kind).toBe('invalidInput');
        expect(failure.message).toContain(`refers to a ${kind}`);
      }
    },
  );
});

describe('concurrent fetches into one folder', () => {
  it('reads the commit in all runs, whichever is first', async () => {
    const repository = newRepository();
    for (let round = 0; round < 2; round += 1) {
      const commit = repository.commit('main', { 'a.yaml': `a: ${round}\n`, 'b.yaml': noise() });
      const sources = Array.from({ length: 5 }, () => open(repository.url));
      const read = await Promise.all(sources.map((source) => source.read()));
      expect(read.map(({ info }) => info.revision)).toEqual(sources.map(() => commit));
      const stands = await Promise.all(sources.map((source) => source.descent!(commit, commit)));
      expect(new Set(stands)).toEqual(new Set(['descendant']));
    }
  });
});

describe('a killed fetch', () => {
  it.each(['for its time', 'with its run'])(
    '%s blocks no later fetch, not even at once',
    async (why) => {
      const repository = newRepository();
      repository.commit('main', { 'a.yaml': 'a: 1\n' });
      await open(repository.url).read();
      repository.commit('main', { 'a.yaml': 'a: 2\n' });
      server.stallsPacks = true;
      const end = new AbortController();
      const isTimely = why === 'for its time';
      const read = (timeoutMs: number): Promise<string> =>
        open(repository.url, isTimely ? { timeoutMs } : { signal: end.signal })
          .read()
          .then(
            () => 'read',
            (error: Error) => error.message,
          );
      const lock = (): boolean =>
        readdirSync(join(folder, `cache-${names}`), { recursive: true, encoding: 'utf8' }).some(
          (path) => path.endsWith('shallow.lock'),
        );
      /** Whether the fetch has reached its lock, or had ended before on a busy machine. */
      const locks = async (fetch: Promise<string>): Promise<boolean> => {
        let isOver = false;
        void fetch.then(() => {
          isOver = true;
        });
        await eventually(() => expect(isOver || lock()).toBe(true));
        return !isOver;
      };
      let timeoutMs = 3000;
      let outcome = read(timeoutMs);
      while (!(await locks(outcome))) {
        timeoutMs *= 2;
        outcome = read(timeoutMs);
      }
      end.abort(new Error('told to stop'));
      expect(await outcome).toContain(isTimely ? 'did not finish' : 'told to stop');
      expect(lock()).toBe(false);
      server.stallsPacks = false;
      const { files } = await open(repository.url).read();
      expect(files[0]?.content.toString()).toBe('a: 2\n');
    },
  );

  it('leaves locks that block later fetches no longer than its own time limit', async () => {
    const repository = newRepository();
    repository.commit('main', { 'a.yaml': 'a: 1\n' });
    const source = open(repository.url);
    await source.read();
    const cache = join(folder, `cache-${names}`);
    const mirror = readdirSync(cache).find((name) => /^[0-9a-f]{32}\.git$/.test(name))!;
    const lockNames = ['shallow.lock', 'config.lock', 'refs/gatewright/source.lock'];
    const locks = lockNames.map((name) => join(cache, mirror, name));
    const pack = join(cache, mirror, 'objects/pack/tmp_pack_AbCdEf');
    writeFileSync(pack, 'half of it');
    for (const lock of locks) writeFileSync(lock, '');
    repository.commit('main', { 'a.yaml': 'a: 2\n' });
    const failure = await failureOf(open(repository.url, { timeoutMs: 5000 }));
    expect([failure.kind, failure.message]).toEqual([
      'retryable',
      expect.stringContaining('Another run fetches'),
    ]);
    const before = new Date(Date.now() - 600_000);
    for (const left of [...locks, pack]) utimesSync(left, before, before);
    expect((await source.read()).files[0]?.content.toString()).toBe('a: 2\n');
    expect(existsSync(pack)).toBe(false);
  });
});

/** Incompressible text. */
function noise(): string {
  return `# ${randomBytes(384 * 1024).toString('base64')}\n`;
}
