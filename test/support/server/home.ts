/** Creates a temporary gatewright home for a test. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { softwareDirectoryOf } from '../../../src/embedded/server-choice.ts';
import { softwareDirectory } from '../database/database-server.ts';

export interface TestHome extends Disposable {
  readonly path: string;
  readonly remove: (name: string) => void;
}

/**
 * Creates a folder with mode 0700, which uses the database software of this run on a machine
 * without one.
 */
export function createTestHome(): TestHome {
  const parent = mkdtempSync(join(tmpdir(), 'gatewright-home-'));
  lendSoftware(parent);
  return {
    path: parent,
    remove: (name) => rmSync(join(parent, name)),
    [Symbol.dispose]: () => rmSync(parent, { recursive: true, force: true }),
  };
}

/** Links the database software of this run into `home`, on a machine without an installed one. */
export function lendSoftware(home: string): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  if (existsSync(softwareDirectory)) symlinkSync(softwareDirectory, softwareDirectoryOf(home));
}
