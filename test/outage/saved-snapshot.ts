/** Reads the snapshot that a gateway has on its disk, as its next start will. */
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMasterKeys } from '../../src/auth/master-keys.ts';
import type { TestServer } from '../support/server/server.ts';
import { readerOn } from '../support/snapshot/snapshots.ts';

export interface SavedSnapshot {
  /** Whether it was the newest one at the last contact of its gateway with the database. */
  readonly wasCurrent: boolean;
  /** Generation of the test's organisation; null without a usable snapshot. */
  readonly generation: string | null;
  /** Whether it has the value of this key. */
  holds(key: string): boolean;
}

/** Reads a copy, because a reader of the folder itself would take the lock of its gateway. */
export async function readSavedSnapshot(
  folder: string,
  { settings, app, organisationId }: TestServer,
): Promise<SavedSnapshot> {
  const copied = mkdtempSync(join(tmpdir(), 'gatewright-saved-'));
  try {
    copyFolder(folder, copied);
    const masterKeys = createMasterKeys(settings.masterKeys!);
    using made = readerOn(null, { folder: copied, masterKeys });
    await made.reader.load();
    const view = made.reader.view();
    return {
      wasCurrent: existsSync(join(copied, 'current')) && made.reader.isCurrent(),
      generation: view?.organisation(organisationId)?.generation ?? null,
      holds: (key) => view?.keyValue(app.keyring.hashCredential(key)) !== undefined,
    };
  } finally {
    rmSync(copied, { recursive: true, force: true });
  }
}

/** The index first: packs that it names are deleted only after it was replaced. */
function copyFolder(from: string, to: string): void {
  if (!existsSync(from)) return;
  try {
    cpSync(from, to, { recursive: true, filter: (path) => !/lock$|\.part$/.test(path) });
  } catch (error) {
    // A file was replaced meanwhile; the caller reads again.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
