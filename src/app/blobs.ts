/** Knows where the bytes of files lie in a deployment, by its settings. */
import { statSync } from 'node:fs';
import { Directory } from '../blobs/directory.ts';
import { S3 } from '../blobs/s3.ts';
import type { SharedClock } from '../clock.ts';
import { Failure } from '../failure.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';
import { DatabaseBlobs } from '../store/database-blobs.ts';
import { KeptBlobs } from '../store/kept-blobs.ts';

/** @throws Failure for a folder that is not there */
export function openBlobs(parts: {
  readonly settings: Pick<Settings, 'blobs' | 'proxies'>;
  readonly database: Database;
  readonly clock: SharedClock;
}): KeptBlobs {
  const { database, clock, settings } = parts;
  const { writesTo, directory, s3 } = settings.blobs;
  if (directory !== null) requireFolder(directory);
  return new KeptBlobs({
    ...{ database, writesTo, now: () => clock.now() },
    places: {
      database: new DatabaseBlobs(database),
      ...(directory === null ? {} : { directory: new Directory(directory) }),
      ...(s3 === null ? {} : { s3: new S3(s3, settings.proxies, () => clock.now()) }),
    },
  });
}

/** It is not made: where it is missing, so is its volume. */
function requireFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new Failure('invalidInput', `GATEWRIGHT_BLOB_DIR: there is no folder ${path}; make it`);
}
