/**
 * Tests the cached snapshot: complete or absent, bound to its account, unreadable to others, and
 * never blocking.
 */
import { randomBytes } from 'node:crypto';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Secret } from '../../../../src/secret.ts';
import {
  type CachedSnapshot,
  LiveSnapshotCache,
  type SnapshotCacheKey,
} from '../../../../src/sync/server/snapshot-cache.ts';

const account: SnapshotCacheKey = {
  adminBaseUrl: 'https://gateway.example.com',
  clientId: 'ci@1',
  clientSecret: new Secret('a-client-secret', 'test'),
  owner: 'platform',
  view: 'whole',
  path: '/snapshot?owner=platform',
};
const canary = 'canary-fingerprint-key';

let home: string;
let folder: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gatewright-kept-'));
  folder = join(home, 'snapshots');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function snapshot(etag = 'W/"one"'): CachedSnapshot {
  const bytes = Buffer.concat([Buffer.from(canary), randomBytes(40_000)]);
  return { etag, body: { coding: 'zstd', bytes }, isProven: true };
}

const cacheOf = (changes: Partial<SnapshotCacheKey> = {}): LiveSnapshotCache =>
  new LiveSnapshotCache(folder, { ...account, ...changes });
const files = (): string[] => readdirSync(folder).map((name) => join(folder, name));

describe('a cached snapshot', () => {
  it('is read by the next run, encrypted and accessible to its user only', async () => {
    const stored = snapshot();
    await cacheOf().keep(stored);
    expect(await cacheOf().read()).toEqual(stored);
    const [path, ...more] = files();
    expect(more).toEqual([]);
    expect(statSync(path!).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(readFileSync(path!).includes(canary)).toBe(false);
    expect(readFileSync(path!).includes('W/"one"')).toBe(false);
  });

  it('is verified again by the next run when this run could not prove it', async () => {
    await cacheOf().keep({ ...snapshot(), isProven: false });
    expect((await cacheOf().read())?.isProven).toBe(false);
  });

  it.each<Partial<SnapshotCacheKey>>([
    { adminBaseUrl: 'https://other.example.com' },
    { clientId: 'ci@2' },
    { owner: 'other' },
    { view: 'own' },
    { path: '/snapshot?owner=platform&named=one' },
    { clientSecret: new Secret('another', 'test') },
  ])('is separate for %j, even under the file name of the first', async (changes) => {
    await cacheOf().keep(snapshot());
    const [first] = files();
    const other = cacheOf(changes);
    expect(await other.read()).toBeNull();
    await other.keep(snapshot('W/"two"'));
    const second = files().find((path) => path !== first) ?? first!;
    renameSync(first!, join(home, 'first'));
    if (second !== first) renameSync(second, join(home, 'second'));
    renameSync(join(home, second === first ? 'first' : 'second'), first!);
    expect(await cacheOf().read()).toBeNull();
  });

  it('is ignored when any byte is changed, cut off or added', async () => {
    await cacheOf().keep(snapshot());
    const [path] = files();
    const whole = readFileSync(path!);
    for (const at of [0, 11, 12, 27, 28, 40, whole.length - 1]) {
      const damaged = Buffer.from(whole);
      damaged[at]! ^= 1;
      writeFileSync(path!, damaged);
      expect(await cacheOf().read()).toBeNull();
    }
    writeFileSync(path!, Buffer.concat([whole, Buffer.from('x')]));
    expect(await cacheOf().read()).toBeNull();
    for (const length of [0, 5, 28, whole.length - 1]) {
      writeFileSync(path!, whole.subarray(0, length));
      expect(await cacheOf().read()).toBeNull();
    }
    writeFileSync(path!, whole);
    expect(await cacheOf().read()).not.toBeNull();
  });

  it('is neither a link, a folder nor a file of unlimited size', async () => {
    await cacheOf().keep(snapshot());
    const [path] = files();
    renameSync(path!, join(home, 'elsewhere'));
    symlinkSync(join(home, 'elsewhere'), path!);
    expect(await cacheOf().read()).toBeNull();
    rmSync(path!);
    writeFileSync(path!, '');
    truncateSync(path!, 64 * 1024 * 1024 + 1);
    expect(await cacheOf().read()).toBeNull();
  });

  it('is one complete version after concurrent writes', async () => {
    const all = Array.from({ length: 20 }, (_, at) => snapshot(`W/"${at}"`));
    await Promise.all(all.map((one) => cacheOf().keep(one)));
    expect(all).toContainEqual(await cacheOf().read());
    expect(files()).toHaveLength(1);
  });

  it('is written again after a run died during its write, some time later', async () => {
    await cacheOf().keep(snapshot());
    const unfinished = `${files()[0]}.new`;
    writeFileSync(unfinished, 'half');
    await cacheOf().keep(snapshot('W/"two"'));
    expect((await cacheOf().read())?.etag).toBe('W/"one"');
    utimesSync(unfinished, 1, 1);
    await cacheOf().keep(snapshot('W/"three"'));
    expect((await cacheOf().read())?.etag).toBe('W/"three"');
    expect(files()).toHaveLength(1);
  });

  it('is absent where nothing can be written, and for what is quickly transferred', async () => {
    writeFileSync(folder, 'a file');
    await cacheOf().keep(snapshot());
    expect(await cacheOf().read()).toBeNull();
    rmSync(folder);
    const small = { coding: 'zstd', bytes: Buffer.alloc(100) } as const;
    await cacheOf().keep({ etag: 'W/"one"', body: small, isProven: true });
    expect(await cacheOf().read()).toBeNull();
    expect(readdirSync(home)).toEqual([]);
  });
});
