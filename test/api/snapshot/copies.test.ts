/** Verifies the copy of a sealed snapshot in a folder: restarts, damage, age, secrecy and interrupted writes. */
import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openDeploymentKey } from '../../../src/auth/data-keys.ts';
import { createMasterKeys } from '../../../src/auth/master-keys.ts';
import { formatVersion } from '../../../src/snapshot/format/sealed-object.ts';
import type { Db } from '../../../src/store/connection/db.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { masterKeysOf } from '../../support/server/server.ts';
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

const canary = 'canary-7be1d2';
let test: TestDatabase;
let db: Db;
let ids: string[];
let folder: string;

beforeAll(async () => {
  test = await createTestDatabase({ breaksRules: true });
  db = test.database.db;
  await openDeploymentKey(db, testMasterKeys());
  ids = [await addOrganisation(), await addOrganisation()];
});
afterAll(() => test[Symbol.asyncDispose]());
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'snapshot-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function addOrganisation(): Promise<string> {
  const id = await insertOrganisation(db);
  await change(id);
  return id;
}

async function change(id: string): Promise<void> {
  for (const table of ['api_keys', 'api_key_hashes', 'integrations', 'users'] as const) {
    await insertRows(db, table, id, 5);
  }
  await sql`UPDATE integrations SET sealed_key = ${`${canary}-sealed`}, configurations = ${canary}
    WHERE organisation_id = ${id}`.execute(db);
  await sql`UPDATE api_keys SET metadata = ${canary} WHERE organisation_id = ${id}`.execute(db);
  await test.database.transaction(async (tx) => touchMarks(tx, id));
  await buildAll(builderOn(db));
}

/** Pulls the newest snapshot and saves it. */
async function save(): Promise<void> {
  using held = readerOn(db, { folder });
  await held.reader.load();
  await held.reader.pull();
  expect(held.unsaved).toEqual([]);
}

/** Loads the copy without a database. */
async function load(parts: ReaderParts = {}) {
  using held = readerOn(null, { folder, ...parts });
  const isLoaded = await held.reader.load();
  const { reader, refused } = held;
  return {
    reader,
    isLoaded,
    view: reader.view(),
    reasons: refused.map(({ reason }) => reason),
    messages: refused.map(({ message }) => message),
  };
}

const files = () => readdirSync(folder).filter((name) => name !== 'lock');
const packs = () => files().filter((name) => name.startsWith('pack-'));

describe('a gateway that starts without the database', () => {
  it('has the rows, the generation and the keys of the last snapshot', async () => {
    await save();
    const { view, reader } = await load();
    await expectEqualRows(db, view!, ids);
    expect(reader.isCurrent()).toBe(true);
    const stored = await db.selectFrom('api_key_hashes').selectAll().execute();
    for (const { hash, api_key_id } of stored) {
      expect(view!.keyValue(hash)?.api_key_id).toBe(api_key_id);
    }
    expect(view!.keyValue(randomBytes(32))).toBeUndefined();
  });

  it('finds organisations by id and TSG id, except deleted ones', async () => {
    const gone = await addOrganisation();
    await sql`UPDATE organisations SET deleted_at = 1 WHERE id = ${gone}`.execute(db);
    await change(gone);
    await save();
    const { view } = await load();
    const { tsg_id } = await db
      .selectFrom('organisations')
      .select('tsg_id')
      .where('id', '=', ids[0]!)
      .executeTakeFirstOrThrow();
    expect(view!.organisation(tsg_id)!.id).toBe(ids[0]);
    expect(view!.organisation(gone)).toBeUndefined();
    expect([...view!.organisationIds()]).toContain(gone);
  });

  it('knows that newer changes may exist when it last heard of some', async () => {
    await save();
    await test.database.transaction(async (tx) => touchMarks(tx, ids[0]!));
    await save();
    expect((await load()).reader.isCurrent()).toBe(false);
    await buildAll(builderOn(db));
    await save();
    expect((await load()).reader.isCurrent()).toBe(true);
  });

  it('returns nothing for an empty folder', async () => {
    expect(await load()).toMatchObject({ isLoaded: false, view: null, reasons: [] });
  });
});

describe('the folder of a snapshot', () => {
  it('contains no value in plain, and neither does the database', async () => {
    await save();
    const { rows } = await sql<{ body: Buffer }>`
      SELECT body FROM snapshot_parts UNION ALL SELECT body FROM snapshot_heads`.execute(db);
    const written = [
      ...files().map((name) => readFileSync(join(folder, name))),
      ...rows.map(({ body }) => body),
    ];
    expect(written.length).toBeGreaterThan(5);
    for (const bytes of written) {
      expect(bytes.includes(canary)).toBe(false);
      for (const key of testKeys()) expect(bytes.includes(key)).toBe(false);
    }
  });

  it('has few files however often the snapshot changes', async () => {
    using held = readerOn(db, { folder });
    for (let round = 0; round < 30; round += 1) {
      await change(ids[round % 2]!);
      await held.reader.pull();
      expect(packs().length).toBeLessThanOrEqual(13);
    }
    expect(held.unsaved).toEqual([]);
    const { view } = await load();
    await expectEqualRows(db, view!, ids);
  });
});

const testKeys = () => [Buffer.alloc(32, 7)];

describe('a damaged copy', () => {
  it('is refused or loses the organisation of the damage, whichever bit of it is flipped', async () => {
    await save();
    const sound = mkdtempSync(join(tmpdir(), 'sound-'));
    cpSync(folder, sound, { recursive: true });
    const flipped: string[] = [];
    for (const name of files().filter((one) => one !== 'current')) {
      const bytes = readFileSync(join(sound, name));
      for (let trial = 0; trial < 60; trial += 1) {
        const changed = Buffer.from(bytes);
        const at = Math.floor((trial / 60) * bytes.length);
        changed[at]! ^= 1 << (trial % 8);
        writeFileSync(join(folder, name), changed);
        const { view, reasons } = await load();
        flipped.push(...reasons);
        if (view === null) continue;
        // A bit of an object that the head no longer names changes nothing.
        expect(view.isWhole).toBe(reasons.length === 0);
        const whole = ids.filter((id) => view.organisation(id) !== undefined);
        expect(whole.length).toBeGreaterThan(view.isWhole ? 1 : 0);
        await expectEqualRows(db, view, whole);
      }
      writeFileSync(join(folder, name), bytes);
    }
    expect(
      new Set(flipped).isSubsetOf(new Set(['altered', 'torn', 'newer', 'foreign', 'locked'])),
    ).toBe(true);
    expect((await load()).isLoaded).toBe(true);
    rmSync(sound, { recursive: true });
  });

  it('is refused when a file is cut at any length', async () => {
    await save();
    for (const name of files().filter((one) => one !== 'current')) {
      const bytes = readFileSync(join(folder, name));
      for (let part = 0; part < 20; part += 1) {
        writeFileSync(
          join(folder, name),
          bytes.subarray(0, Math.floor((part / 20) * bytes.length)),
        );
        const { view, reasons } = await load();
        expect({ name, part, view }).toEqual({ name, part, view: null });
        expect(reasons[0]).toMatch(/torn|altered/);
      }
      writeFileSync(join(folder, name), bytes);
    }
    expect((await load()).isLoaded).toBe(true);
  });

  it('is replaced by the next pull', async () => {
    await save();
    for (const name of packs()) writeFileSync(join(folder, name), 'damaged');
    using held = readerOn(db, { folder });
    expect(await held.reader.load()).toBe(false);
    await held.reader.pull();
    expect(held.unsaved).toEqual([]);
    expect((await load()).isLoaded).toBe(true);
  });

  it('is refused when a part of an organisation is replaced by that of another or of an earlier time', async () => {
    await save();
    const earlier = new Map(packs().map((name) => [name, readFileSync(join(folder, name))]));
    const index = readFileSync(join(folder, 'head'));
    await change(ids[0]!);
    await save();
    const [name] = packs().filter((one) => !earlier.has(one));
    // The objects of the earlier time under the name of the newer pack.
    const [[, old]] = [...earlier] as [[string, Buffer]];
    writeFileSync(join(folder, name!), old);
    expect((await load()).view).toBeNull();
    // A whole earlier copy is a snapshot with its own, earlier time.
    for (const [one, bytes] of earlier) writeFileSync(join(folder, one), bytes);
    writeFileSync(join(folder, 'head'), index);
    const { view } = await load();
    using newest = readerOn(db);
    await newest.reader.pull();
    expect(view!.builtAtMs).toBeLessThan(newest.reader.view()!.builtAtMs);
  });
});

describe('a snapshot that must not be used', () => {
  it('is refused with one error that names the fault', async () => {
    await save();
    const other = await load({ masterKeys: createMasterKeys(masterKeysOf(3)) });
    expect(other).toMatchObject({ isLoaded: false, reasons: ['locked'] });
    expect(other.messages[0]).toContain('GATEWRIGHT_MASTER_KEY');
    const head = readFileSync(join(folder, 'head'));
    const newer = Buffer.from(head);
    newer[newer.indexOf('GWSN') + 4] = formatVersion + 1;
    writeFileSync(join(folder, 'head'), newer);
    expect(await load()).toMatchObject({ view: null, reasons: ['newer'] });
    writeFileSync(join(folder, 'head'), head);
  });

  it('is refused when it is older than the maximum age, at the start and later', async () => {
    await save();
    const { builtAtMs } = (await load()).view!;
    const maxAgeMs = 60_000;
    const late = await load({ maxAgeMs, now: () => builtAtMs + maxAgeMs + 1 });
    expect(late).toMatchObject({ isLoaded: false, view: null, reasons: ['stale'] });
    // A clock that is behind by five minutes refuses nothing.
    expect((await load({ maxAgeMs, now: () => builtAtMs - 300_000 })).isLoaded).toBe(true);
    let now = builtAtMs;
    using held = readerOn(null, { folder, maxAgeMs, now: () => now });
    await held.reader.load();
    expect(held.reader.view()).not.toBeNull();
    now += maxAgeMs + 1;
    expect(held.reader.view()).toBeNull();
    expect(held.refused.map(({ reason }) => reason)).toEqual(['stale']);
  });

  it('is refused when it belongs to another deployment, and replaced by that of the database', async () => {
    await using second = await createTestDatabase({ breaksRules: true });
    await openDeploymentKey(second.database.db, testMasterKeys());
    const foreign = await insertOrganisation(second.database.db);
    await buildAll(builderOn(second.database.db));
    await save();
    using held = readerOn(second.database.db, { folder });
    await held.reader.load();
    await held.reader.pull();
    expect(held.refused.map(({ reason }) => reason)).toEqual(['foreign']);
    expect([...held.reader.view()!.organisationIds()]).toEqual([foreign]);
    expect(held.reader.view()!.organisation(ids[0]!)).toBeUndefined();
  });
});

describe('a folder of two processes', () => {
  it('serves both, is written by one, and then by the other', async () => {
    const first = readerOn(db, { folder });
    await first.reader.load();
    await first.reader.pull();
    using second = readerOn(db, { folder });
    await second.reader.load();
    const before = packs();
    await change(ids[0]!);
    await second.reader.pull();
    expect(packs()).toEqual(before);
    expect(second.unsaved).toEqual([]);
    first[Symbol.dispose]();
    await second.reader.pull();
    expect(packs()).not.toEqual(before);
    await expectEqualRows(db, (await load()).view!, ids);
  });
});
