/** Tests the upgrade from the release before to this one on one database, also with both at once. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createEmptyDatabase } from '../support/database/database.ts';
import { databaseVariables } from '../support/database/database-variables.ts';
import { buildRelease, cloneOf } from './build-release.ts';
import { installRelease } from './installed-release.ts';
import { runProgram, serveProgram } from './served-program.ts';

const { folder, version, clone, keyPath } = inject('release');
const work = mkdtempSync(join(tmpdir(), 'gatewright-upgrade-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

interface EarlierRelease {
  readonly archive: string;
  /** Named in the title of the tests. */
  readonly origin: string;
}

/** The given release, else one built from the newest tag that is not this commit, else this one. */
function earlierRelease(): EarlierRelease {
  const given = process.env.GATEWRIGHT_TEST_PREVIOUS_RELEASE;
  if (given !== undefined && given !== '') {
    const archive = readdirSync(given).find((name) => /^gatewright-\d.*\.tgz$/.test(name));
    if (archive === undefined) throw new Error(`${given} has no gatewright-VERSION.tgz`);
    return { archive: join(given, archive), origin: `from ${archive}` };
  }
  const tag = git(['describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^']);
  if (tag !== null) return { archive: builtFrom(tag), origin: `from ${tag}, built from its tag` };
  const archive = join(folder, `gatewright-${version}.tgz`);
  return { archive, origin: 'FROM ITSELF, BECAUSE THERE IS NO EARLIER RELEASE' };
}

function git(words: readonly string[], cwd = clone): string | null {
  const { status, stdout } = spawnSync('git', words, { cwd, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}

function builtFrom(tag: string): string {
  const earlier = cloneOf(join(work, 'earlier'));
  if (git(['checkout', '--quiet', tag], earlier) === null) throw new Error(`no tag ${tag}`);
  buildRelease(earlier, join(work, 'built'), keyPath);
  const name = readdirSync(join(work, 'built')).find((one) => /^gatewright-\d.*\.tgz$/.test(one))!;
  return join(work, 'built', name);
}

const { archive, origin } = earlierRelease();

describe(`an upgrade ${origin}`, () => {
  let earlier: readonly string[];
  let later: readonly string[];
  beforeAll(() => {
    earlier = installRelease(archive, join(work, 'n'));
    later = installRelease(join(folder, `gatewright-${version}.tgz`), join(work, 'n-plus-1'));
    expect(existsSync(later[1]!)).toBe(true);
  });

  it('keeps the data of the earlier release, which goes on beside the later one', async () => {
    await using database = await createEmptyDatabase();
    const env = {
      ...databaseVariables(database.settings),
      GATEWRIGHT_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      GATEWRIGHT_LAME_DUCK_SECONDS: '0',
    };
    const done = { exitCode: 0 };
    expect(await runProgram(earlier, ['migrate'], env)).toMatchObject(done);
    const booted = await runProgram(earlier, ['bootstrap', '--file', '-', '-o', 'json'], env);
    expect(booted).toMatchObject(done);
    const { organisationApiKey } = JSON.parse(booted.stdout) as { organisationApiKey: string };
    const client = (url: string) => adminClient(url, organisationApiKey);

    await using old = await serveProgram(earlier, env);
    const before = client(old.adminUrl);
    const first = await before.createKey('first');
    expect(await before.keyNames()).toEqual(['first']);

    expect(await runProgram(later, ['migrate'], env)).toMatchObject(done);
    expect(await runProgram(later, ['migrate', '--check'], env)).toMatchObject(done);
    await using next = await serveProgram(later, env);
    const after = client(next.adminUrl);
    expect((await fetch(`${old.adminUrl}/readyz`)).status).toBe(200);
    expect(await after.keyNames()).toEqual(['first']);

    await before.createKey('by-earlier');
    await after.createKey('by-later');
    const expected = ['by-earlier', 'by-later', 'first'];
    expect(await before.keyNames()).toEqual(expected);
    expect(await after.keyNames()).toEqual(expected);
    await after.rename(first, 'renamed');
    expect(await before.keyNames()).toEqual(['by-earlier', 'by-later', 'renamed']);

    expect(await old.stop()).toBe(0);
    expect(await after.keyNames()).toEqual(['by-earlier', 'by-later', 'renamed']);
    expect(await runProgram(later, ['audit', 'verify'], env)).toMatchObject(done);
    expect(await next.stop()).toBe(0);
  });
});

interface AdminClient {
  /** Returns the id. */
  readonly createKey: (name: string) => Promise<string>;
  readonly rename: (id: string, name: string) => Promise<void>;
  readonly keyNames: () => Promise<string[]>;
}

function adminClient(url: string, apiKey: string): AdminClient {
  const send = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${url}/v1/api-keys${path}`, {
      method,
      headers: { 'x-gateway-api-key': apiKey, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  };
  return {
    createKey: async (name) => {
      const body = { name, scopes: ['completions.write'] };
      return ((await send('POST', '/organisation/service', body)) as { id: string }).id;
    },
    rename: async (id, name) => {
      await send('PUT', `/${id}`, { name });
    },
    keyNames: async () => {
      const { data } = (await send('GET', '')) as { data: { name: string }[] };
      return data.map(({ name }) => name).toSorted();
    },
  };
}
