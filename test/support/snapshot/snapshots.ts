/** Builds and reads sealed snapshots of a test server's database, without its loops. */
import { createMasterKeys, type MasterKeys } from '../../../src/auth/master-keys.ts';
import { SnapshotBuilder } from '../../../src/snapshot/building/snapshot-builder.ts';
import type { SnapshotRefused } from '../../../src/snapshot/format/snapshot-refused.ts';
import { FolderCopy } from '../../../src/snapshot/reading/snapshot-copy.ts';
import {
  databaseOrigin,
  type SnapshotOrigin,
} from '../../../src/snapshot/reading/snapshot-origin.ts';
import { SnapshotReader } from '../../../src/snapshot/reading/snapshot-reader.ts';
import type { Db } from '../../../src/store/connection/db.ts';
import { masterKeysOf } from '../server/server.ts';

export const testMasterKeys = (): MasterKeys => createMasterKeys(masterKeysOf(7));

export interface BuilderParts {
  readonly masterKeys?: MasterKeys;
  readonly holder?: string;
  readonly leaseMs?: number;
  readonly graceMs?: number;
  readonly touchMs?: number;
}

export function builderOn(db: Db, parts: BuilderParts = {}): SnapshotBuilder {
  return new SnapshotBuilder({
    db,
    masterKeys: testMasterKeys(),
    holder: 'builder',
    leaseMs: 30_000,
    graceMs: 600_000,
    touchMs: 30_000,
    onRefused: (refused) => {
      throw refused;
    },
    ...parts,
  });
}

/** Builds until nothing waits. A lease that ended during a slow test is acquired again. */
export async function buildAll(builder: SnapshotBuilder): Promise<void> {
  for (;;) {
    const { state } = await builder.step();
    if (state === 'idle') return;
    if (state === 'waiting') throw new Error('another process builds');
  }
}

export interface ReaderParts {
  readonly masterKeys?: MasterKeys;
  /** Folder of its copy. */
  readonly folder?: string;
  readonly origin?: SnapshotOrigin | null;
  readonly maxAgeMs?: number;
  readonly now?: () => number;
}

export interface TestReader extends Disposable {
  readonly reader: SnapshotReader;
  readonly refused: SnapshotRefused[];
  readonly unsaved: unknown[];
}

/** `db` null for a reader without an origin. */
export function readerOn(db: Db | null, parts: ReaderParts = {}): TestReader {
  const { masterKeys = testMasterKeys(), folder, maxAgeMs = null, now = Date.now } = parts;
  const refused: SnapshotRefused[] = [];
  const unsaved: unknown[] = [];
  const copy = folder === undefined ? null : new FolderCopy(folder);
  const reader = new SnapshotReader({
    masterKeys,
    origin: parts.origin ?? (db && databaseOrigin(db)),
    copy,
    maxAgeMs,
    clock: { now },
    onRefused: (one) => refused.push(one),
    onUnsaved: (error) => unsaved.push(error),
    onChangeInForce: null,
  });
  return { reader, refused, unsaved, [Symbol.dispose]: () => copy?.[Symbol.dispose]() };
}
