/** Guarantees that a run of tests keeps its databases in memory only where they have room. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { folderOfData } from '../../support/database/database-server.ts';
import { mountSmallDisk, unmountSmallDisk } from '../../support/database/small-disk.ts';

/** As much as containers have unless told otherwise. */
const disk = mountSmallDisk(64);
afterAll(() => disk !== null && unmountSmallDisk(disk));

it.skipIf(disk === null)('what holds less than they take is left for a folder on disk', () => {
  expect(folderOfData(disk!)).toBe(tmpdir());
});

it('what is not there, or is not written to, is as well', () => {
  expect(folderOfData(join(tmpdir(), 'no such folder'))).toBe(tmpdir());
  expect(folderOfData('/proc')).toBe(tmpdir());
});
