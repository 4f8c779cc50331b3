/** Checks that the tests place databases in memory only where there is enough room. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { folderOfData } from '../../support/database/database-server.ts';
import { mountSmallDisk, unmountSmallDisk } from '../../support/database/small-disk.ts';

/** The default size of /dev/shm in containers. */
const disk = mountSmallDisk(64);
afterAll(() => disk !== null && unmountSmallDisk(disk));

it.skipIf(disk === null)('uses a folder on disk when the memory file system is too small', () => {
  expect(folderOfData(disk!)).toBe(tmpdir());
});

it('uses a folder on disk when the path is missing or not writable', () => {
  expect(folderOfData(join(tmpdir(), 'no such folder'))).toBe(tmpdir());
  expect(folderOfData('/proc')).toBe(tmpdir());
});
