/** Opens the blob storage that the settings select. */
import { statSync } from 'node:fs';
import { Directory } from '../blobs/directory.ts';
import { S3 } from '../blobs/s3.ts';
import type { SharedClock } from '../clock.ts';
import { Failure } from '../failure.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';
import { DatabaseBlobs } from '../store/database-blobs.ts';
import { StoredBlobs } from '../store/stored-blobs.ts';

/** @throws Failure when the configured folder does not exist */
export function openBlobs(parts: {
  readonly settings: Pick<Settings, 'blobs' | 'proxies'>;
  readonly database: Database;
  readonly clock: SharedClock;
}): StoredBlobs {
  const { database, clock, settings } = parts;
  const { writesTo, directory, s3 } = settings.blobs;
  if (directory !== null) requireFolder(directory);
  return new StoredBlobs({
    database,
    writesTo,
    now: () => clock.now(),
    places: {
      database: new DatabaseBlobs(database),
      ...(directory === null ? {} : { directory: new Directory(directory) }),
      ...(s3 === null ? {} : { s3: new S3(s3, settings.proxies, () => clock.now()) }),
    },
  });
}

/** Not created automatically: a missing folder usually means a missing volume. */
function requireFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new Failure(
    'invalidInput',
    `GATEWRIGHT_BLOB_DIR: the folder ${path} does not exist; create it`,
  );
}
