/** Verifies the copy of the snapshot in a bucket: starts without a folder, deltas, deaths, damage and former builders. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openBucketFolder } from '../../../src/app/outages/bucket-folder.ts';
import { openApp } from '../../../src/app.ts';
import { openDeploymentKey } from '../../../src/auth/data-keys.ts';
import { createMasterKeys } from '../../../src/auth/master-keys.ts';
import { createLog } from '../../../src/log.ts';
import type { BucketFolder } from '../../../src/snapshot/bucket/bucket-files.ts';
import { bucketOrigin } from '../../../src/snapshot/bucket/bucket-origin.ts';
import { BucketWriter, type BuildRight } from '../../../src/snapshot/bucket/bucket-writer.ts';
import { formatVersion } from '../../../src/snapshot/format/sealed-object.ts';
import { databaseOrigin } from '../../../src/snapshot/reading/snapshot-origin.ts';
import type { SnapshotReader } from '../../../src/snapshot/reading/snapshot-reader.ts';
import { SnapshotBucket } from '../../../src/snapshot/snapshot-bucket.ts';
import type { Db } from '../../../src/store/connection/db.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { eventually } from '../../support/server/eventually.ts';
import { masterKeysOf, startTestServer, testSettings } from '../../support/server/server.ts';
import { expectEqualRows } from '../../support/snapshot/expect-equal-rows.ts';
import {
  insertOrganisation,
  insertRows,
  touchMarks,
} from '../../support/snapshot/generated-rows.ts';
import {
  buildAll,
  builderOn,
  type ReaderParts,
  readerOn,
  testMasterKeys,
} from '../../support/snapshot/snapshots.ts';
import { type Bucket, startBucket } from '../../support/upstream/bucket.ts';

let test: TestDatabase;
let db: Db;
let ids: string[];
let bucket: Bucket;
let folder: BucketFolder;

beforeAll(async () => {
  test = await createTestDatabase({ breaksRules: true });
  db = test.database.db;
  await openDeploymentKey(db, testMasterKeys());
  ids = [await addOrganisation(db), await addOrganisation(db)];
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(async () => {
  bucket = await startBucket();
  folder = folderOf(bucket);
});
afterEach(async () => {
  await folder[Symbol.asyncDispose]();
  await bucket[Symbol.asyncDispose]();
});

function folderOf({ place }: Bucket): BucketFolder {
  const snapshot = { directory: null, maxAgeSeconds: null, isInBucket: true };
  const blobs = { writesTo: 'database' as const, directory: null, s3: place, fileBytesMax: 1 };
  return openBucketFolder({ snapshot, blobs, proxies: null }, { now: Date.now })!;
}

async function addOrganisation(on: Db): Promise<string> {
  const id = await insertOrganisation(on);
  await change(id);
  return id;
}

async function change(id: string): Promise<void> {
  for (const table of ['api_keys', 'api_key_hashes'] as const) await insertRows(db, table, id, 20);
  await test.database.transaction(async (tx) => touchMarks(tx, id));
  await buildAll(builderOn(db));
}

const right = (fence = 1, confirms = true): BuildRight => ({
  fence,
  confirm: async () => confirms,
});

/** Saves the newest snapshot of the database, by a process that builds. */
async function save(writer: BucketWriter, as = right(), on = db): Promise<boolean> {
  using held = readerOn(on);
  await held.reader.pull();
  return writer.save(held.reader.contents()!, as);
}

/** Pulls from the bucket alone, as a gateway with an empty folder. */
async function start(parts: ReaderParts = {}): Promise<SnapshotReader> {
  using held = readerOn(null, parts);
  await held.reader.pullFrom(bucketOrigin(folder, () => 0));
  return held.reader;
}

const named = (kind: string): string[] => [
  ...new Set(
    bucket
      .objects()
      .map((name) => name.split('/').at(-2)!)
      .filter((name) => name.startsWith(kind)),
  ),
];

/** Replaces the bytes of a file. */
async function alter(name: string, bytes: Buffer): Promise<void> {
  await folder.delete(name);
  await folder.write(name, bytes);
}

describe('a gateway with an empty folder and no database', () => {
  it('takes the newest snapshot from the bucket, and has it in its folder at the next start', async () => {
    await save(new BucketWriter(folder));
    const directory = mkdtempSync(join(tmpdir(), 'snapshot-'));
    const reader = await start({ folder: directory });
    await expectEqualRows(db, reader.view()!, ids);
    expect(reader.isCurrent()).toBe(true);
    expect(reader.confirmedAtMs()).toBe(reader.view()!.builtAtMs);
    using next = readerOn(null, { folder: directory });
    expect(await next.reader.load()).toBe(true);
    await expectEqualRows(db, next.reader.view()!, ids);
    rmSync(directory, { recursive: true });
  });

  it('has none when the bucket is empty', async () => {
    expect((await start()).view()).toBeNull();
  });

  it('follows what is saved later, and reads only packs that it has not read', async () => {
    const writer = new BucketWriter(folder);
    await save(writer);
    using held = readerOn(null);
    const origin = bucketOrigin(folder, () => held.reader.view()?.builtAtMs ?? 0);
    expect(await held.reader.pullFrom(origin)).toBe(true);
    expect(await held.reader.pullFrom(origin)).toBe(false);
    const [first] = named('pack-');
    await change(ids[0]!);
    await save(writer);
    bucket.requests.length = 0;
    expect(await held.reader.pullFrom(origin)).toBe(true);
    expect(bucket.requests.filter((one) => one.includes(first!))).toEqual([]);
    await expectEqualRows(db, held.reader.view()!, ids);
  });
});

describe('a builder', () => {
  it('writes only what changed, then the head, and nothing when nothing changed', async () => {
    const writer = new BucketWriter(folder);
    await save(writer);
    const before = named('pack-');
    await change(ids[0]!);
    bucket.requests.length = 0;
    await save(writer);
    const written = bucket.requests.filter((one) => one.startsWith('PUT'));
    expect(written.map((one) => /\/(head|pack)-/.exec(one)![1])).toEqual(['pack', 'head']);
    expect(named('pack-')).toHaveLength(before.length + 1);
    expect(await save(writer)).toBe(false);
  });

  it('keeps few files however often it saves, and none of others is deleted', async () => {
    const writer = new BucketWriter(folder);
    await folder.write('notes', Buffer.from('of the operator'));
    for (let round = 0; round < 20; round += 1) {
      await change(ids[round % 2]!);
      await save(writer);
      expect(named('pack-').length).toBeLessThanOrEqual(13);
      expect(named('head-')).toHaveLength(1);
    }
    expect(named('notes')).toHaveLength(1);
    await expectEqualRows(db, (await start()).view()!, ids);
  });

  it('leaves a whole snapshot, the previous or the new one, when it ends before any request', async () => {
    await save(new BucketWriter(folder));
    for (let deaths = 0; ; deaths += 1) {
      const before = (await start()).view()!.builtAtMs;
      const writer = new BucketWriter(folder);
      await save(writer);
      await change(ids[0]!);
      let requests = 0;
      bucket.interfere = () => {
        requests += 1;
        return requests > deaths ? 'AccessDenied' : null;
      };
      const isSaved = await save(writer).catch(() => false);
      bucket.interfere = () => null;
      const view = (await start()).view()!;
      expect(view.isWhole).toBe(true);
      expect(view.builtAtMs).toBeGreaterThanOrEqual(before);
      if (isSaved) break;
    }
    await expectEqualRows(db, (await start()).view()!, ids);
  });

  it('writes everything again when a pack was deleted', async () => {
    const writer = new BucketWriter(folder);
    await save(writer);
    await folder.delete(named('pack-')[0]!);
    await expect(start()).rejects.toMatchObject({ reason: 'torn' });
    await change(ids[0]!);
    await save(writer);
    await expectEqualRows(db, (await start()).view()!, ids);
  });
});

describe('a former builder', () => {
  it('deletes nothing, and its late head does not count', async () => {
    const former = new BucketWriter(folder);
    await save(former, right(1));
    await change(ids[0]!);
    await save(new BucketWriter(folder), right(2));
    const packs = named('pack-');
    await change(ids[1]!);
    // It pulled the newest snapshot, and does not know yet that another process builds.
    await save(former, right(1, false));
    expect(packs.filter((name) => !named('pack-').includes(name))).toEqual([]);
    await expectEqualRows(db, (await start()).view()!, ids);
    // The head that it left names packs that the builder has collected.
    for (const name of named('pack-').filter((one) => !packs.includes(one))) {
      await folder.delete(name);
    }
    expect((await start()).view()!.isWhole).toBe(true);
    await save(new BucketWriter(folder), right(2));
    expect(named('head-')).toHaveLength(1);
    await expectEqualRows(db, (await start()).view()!, ids);
  });

  it('writes everything when it builds again, because its files may be gone', async () => {
    const [one, other] = [new BucketWriter(folder), new BucketWriter(folder)];
    await save(one, right(1));
    await save(other, right(2));
    await save(one, right(3));
    await expectEqualRows(db, (await start()).view()!, ids);
  });
});

describe('a snapshot in the bucket that must not be used', () => {
  it('is refused when any of its files is cut or altered, and replaced by the next save', async () => {
    const writer = new BucketWriter(folder);
    await save(writer);
    const sizes = await folder.list();
    for (const [name, bytes] of sizes) {
      const original = (await folder.read(name, bytes))!;
      const flipped = Buffer.from(original);
      flipped[bytes - 5]! ^= 4;
      for (const damaged of [original.subarray(0, bytes / 2), original.subarray(0, 3), flipped]) {
        await alter(name, damaged);
        await expect(start()).rejects.toMatchObject({
          reason: expect.stringMatching(/torn|altered/),
        });
      }
      await alter(name, original);
    }
    const [head] = named('head-');
    await alter(head!, Buffer.from('damaged'));
    await save(new BucketWriter(folder), right(2));
    await expectEqualRows(db, (await start()).view()!, ids);
  });

  it('is refused when it has a newer format, another master key, or too great an age', async () => {
    await save(new BucketWriter(folder));
    const [name] = named('head-');
    const head = (await folder.read(name!, (await folder.list()).get(name!)!))!;
    const newer = Buffer.from(head);
    newer[newer.indexOf('GWSN') + 4] = formatVersion + 1;
    await alter(name!, newer);
    await expect(start()).rejects.toMatchObject({ reason: 'newer' });
    await alter(name!, head);
    const masterKeys = createMasterKeys(masterKeysOf(3));
    await expect(start({ masterKeys })).rejects.toMatchObject({ reason: 'locked' });
    const { builtAtMs } = (await start()).view()!;
    const late = { maxAgeMs: 60_000, now: () => builtAtMs + 60_001 };
    await expect(start(late)).rejects.toMatchObject({ reason: 'stale' });
  });

  it('is left alone when it is older than the held one, also under a newer name', async () => {
    await save(new BucketWriter(folder));
    await change(ids[0]!);
    using held = readerOn(db);
    await held.reader.pull();
    const { builtAtMs } = held.reader.view()!;
    expect(await held.reader.pullFrom(bucketOrigin(folder, () => builtAtMs))).toBe(false);
    const [name] = named('head-');
    const bytes = (await folder.read(name!, (await folder.list()).get(name!)!))!;
    await folder.write(name!.replace(/^head-\d{15}/, 'head-999999999999999'), bytes);
    await expect(held.reader.pullFrom(bucketOrigin(folder, () => builtAtMs))).rejects.toMatchObject(
      { reason: 'stale' },
    );
    expect(held.reader.view()!.builtAtMs).toBe(builtAtMs);
  });

  it('is neither read nor overwritten when it belongs to another deployment', async () => {
    await using second = await createTestDatabase({ breaksRules: true });
    await openDeploymentKey(second.database.db, testMasterKeys());
    await insertOrganisation(second.database.db);
    await buildAll(builderOn(second.database.db));
    await save(new BucketWriter(folder), right(), second.database.db);
    const before = bucket.objects();
    using held = readerOn(db);
    await held.reader.pull();
    await expect(held.reader.pullFrom(bucketOrigin(folder, () => 0))).rejects.toMatchObject({
      reason: 'foreign',
    });
    await expect(save(new BucketWriter(folder))).rejects.toThrow('GATEWRIGHT_BLOB_S3_PREFIX');
    expect(bucket.objects()).toEqual(before);
    await expectEqualRows(db, held.reader.view()!, ids);
  });
});

describe('a process with a bucket', () => {
  it('reads it only while its origin is away, and reports a fault once', async () => {
    await save(new BucketWriter(folder));
    using held = readerOn(null);
    const failures: string[] = [];
    const parts = {
      folder,
      reader: held.reader,
      buildRight: () => null,
      onFailure: (_: unknown, message: string) => failures.push(message),
    };
    const process = new SnapshotBucket(parts);
    process.notePulled();
    bucket.requests.length = 0;
    await process.step();
    expect(bucket.requests).toEqual([]);
    expect(held.reader.view()).toBeNull();
    const starting = new SnapshotBucket(parts);
    bucket.interfere = () => 'AccessDenied';
    await starting.step();
    await starting.step();
    expect(failures).toEqual(['the snapshot could not be read from the bucket']);
    bucket.interfere = () => null;
    await starting.step();
    expect(held.reader.view()).not.toBeNull();
  });

  it('knows no more of pending changes than the database told it', async () => {
    using held = readerOn(db);
    await held.reader.pull();
    await save(new BucketWriter(folder));
    await test.database.transaction(async (tx) => touchMarks(tx, ids[0]!));
    await held.reader.pull();
    expect(held.reader.isCurrent()).toBe(false);
    await held.reader.pullFrom(bucketOrigin(folder, () => held.reader.view()!.builtAtMs));
    expect(held.reader.isCurrent()).toBe(false);
    await buildAll(builderOn(db));
  });

  it('is a server that saves there, from which another one starts without the database', async () => {
    const [first, second] = ['a', 'b'].map(() => mkdtempSync(join(tmpdir(), 'snapshot-')));
    const blobs = { writesTo: 's3', directory: null, s3: bucket.place, fileBytesMax: 1 } as const;
    const snapshot = { directory: first!, maxAgeSeconds: null, isInBucket: true };
    await using server = await startTestServer({
      settings: { snapshot, blobs },
      components: ['admin', 'gateway', 'jobs'],
    });
    await eventually(async () => expect(named('head-')).toHaveLength(1));
    const unreachable = {
      ...server.settings.database!,
      host: '127.0.0.1',
      port: 1,
      socketPath: null,
    };
    const lines: string[] = [];
    const log = createLog({
      level: 'debug',
      destination: { write: (line) => lines.push(line) > 0 },
    });
    await using app = openApp(
      {
        ...testSettings(),
        masterKeys: server.settings.masterKeys,
        database: unreachable,
        blobs,
        snapshot: { ...snapshot, directory: second! },
      },
      { log, components: ['gateway'] },
    );
    expect(await app.openFromSnapshot()).toBe(true);
    for (const path of [first!, second!]) rmSync(path, { recursive: true, force: true });
  });
});

describe('the origin of the database', () => {
  it('replaces a snapshot of the bucket, whatever its time', async () => {
    await save(new BucketWriter(folder));
    using held = readerOn(null, { origin: databaseOrigin(db) });
    await held.reader.pullFrom(bucketOrigin(folder, () => 0));
    await change(ids[1]!);
    await held.reader.pull();
    await expectEqualRows(db, held.reader.view()!, ids);
  });
});
