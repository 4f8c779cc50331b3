/** Verifies that the folder of a snapshot survives a full disk and a process that ends at any step. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDeploymentKey } from '../../../src/auth/data-keys.ts';
import { FolderCopy } from '../../../src/snapshot/reading/snapshot-copy.ts';
import { SnapshotFolder } from '../../../src/snapshot/reading/snapshot-folder.ts';
import type { Db } from '../../../src/store/connection/db.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { mountSmallDisk, unmountSmallDisk } from '../../support/database/small-disk.ts';
import { expectEqualRows } from '../../support/snapshot/expect-equal-rows.ts';
import {
  insertOrganisation,
  insertRows,
  touchMarks,
} from '../../support/snapshot/generated-rows.ts';
import { buildAll, builderOn, readerOn, testMasterKeys } from '../../support/snapshot/snapshots.ts';

let test: TestDatabase;
let db: Db;
let id: string;
beforeAll(async () => {
  test = await createTestDatabase({ breaksRules: true });
  db = test.database.db;
  await openDeploymentKey(db, testMasterKeys());
  id = await insertOrganisation(db);
  await change();
});
afterAll(() => test[Symbol.asyncDispose]());

async function change(keys = 20): Promise<void> {
  for (const table of ['api_keys', 'api_key_hashes'] as const) {
    await insertRows(db, table, id, keys);
  }
  await test.database.transaction(async (tx) => touchMarks(tx, id));
  await buildAll(builderOn(db));
}

/** Time of the copy in a folder. */
async function savedAtMs(folder: string): Promise<number> {
  using held = readerOn(null, { folder });
  expect(await held.reader.load()).toBe(true);
  expect(held.refused).toEqual([]);
  expect(held.reader.view()!.isWhole).toBe(true);
  return held.reader.view()!.builtAtMs;
}

describe('a full disk', () => {
  it('leaves the previous copy, is reported, and is over once there is space', async ({ skip }) => {
    const disk = mountSmallDisk(1);
    if (disk === null) return skip();
    try {
      const folder = join(disk, 'snapshot');
      using held = readerOn(db, { folder });
      await held.reader.load();
      await held.reader.pull();
      expect(held.unsaved).toEqual([]);
      held[Symbol.dispose]();
      const before = await savedAtMs(folder);
      fill(disk);
      await change(2_000);
      using full = readerOn(db, { folder });
      await full.reader.load();
      await full.reader.pull();
      expect(full.unsaved.length).toBeGreaterThan(0);
      expect(String(full.unsaved[0])).toContain('its disk is full');
      expect(full.reader.view()!.builtAtMs).toBeGreaterThan(before);
      expect(full.reader.isCurrent()).toBe(true);
      full[Symbol.dispose]();
      expect(await savedAtMs(folder)).toBe(before);
      // The copy does not claim to be the newest one.
      expect(readdirSync(folder)).not.toContain('current');
      rmSync(join(disk, 'filler'));
      using after = readerOn(db, { folder });
      await after.reader.load();
      await after.reader.pull();
      expect(after.unsaved).toEqual([]);
      after[Symbol.dispose]();
      expect(await savedAtMs(folder)).toBeGreaterThan(before);
    } finally {
      unmountSmallDisk(disk);
    }
  });
});

function fill(disk: string): void {
  for (let kilobytes = 1024; kilobytes >= 4; ) {
    try {
      writeFileSync(join(disk, 'filler'), Buffer.alloc(kilobytes * 1024), { flag: 'a' });
    } catch {
      kilobytes /= 2;
    }
  }
}

describe('a process that ends at any step of saving', () => {
  it('leaves a whole copy, the previous one or the new one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'snapshot-'));
    const original = SnapshotFolder.prototype.write;
    const originalDelete = SnapshotFolder.prototype.delete;
    try {
      using first = readerOn(db, { folder });
      await first.reader.load();
      await first.reader.pull();
      first[Symbol.dispose]();
      for (let deaths = 0; ; deaths += 1) {
        const before = await savedAtMs(folder);
        await change();
        let steps = 0;
        const dies = (): boolean => {
          steps += 1;
          return steps > deaths;
        };
        SnapshotFolder.prototype.write = async function (name, bytes) {
          // Half of the file is written beside its place.
          if (dies()) {
            writeFileSync(join(folder, `${name}.part`), bytes.subarray(0, bytes.length / 2));
            throw new Error('the process has ended');
          }
          await original.call(this, name, bytes);
          if (dies()) throw new Error('the process has ended');
        };
        SnapshotFolder.prototype.delete = async function (name) {
          if (dies()) throw new Error('the process has ended');
          await originalDelete.call(this, name);
        };
        using dead = readerOn(db, { folder });
        await dead.reader.load();
        await dead.reader.pull();
        dead[Symbol.dispose]();
        SnapshotFolder.prototype.write = original;
        SnapshotFolder.prototype.delete = originalDelete;
        expect(await savedAtMs(folder)).toBeGreaterThanOrEqual(before);
        expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
        if (dead.unsaved.length === 0) break;
      }
      using last = readerOn(null, { folder });
      await last.reader.load();
      await expectEqualRows(db, last.reader.view()!, [id]);
    } finally {
      SnapshotFolder.prototype.write = original;
      SnapshotFolder.prototype.delete = originalDelete;
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a folder that cannot be used', () => {
  it('is named with the setting and the reason', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'snapshot-'));
    writeFileSync(join(folder, 'file'), 'no folder');
    const copy = new FolderCopy(join(folder, 'file'));
    await expect(copy.load()).rejects.toThrow(/GATEWRIGHT_SNAPSHOT_DIRECTORY.*no folder/);
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('no folder');
    rmSync(folder, { recursive: true });
  });
});
