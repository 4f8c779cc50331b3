/** Knows how a test gets a home of its own. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { softwareDirectoryOf } from '../../../src/embedded/server-choice.ts';
import { softwareDirectory } from '../database/database-server.ts';

export interface TestHome extends Disposable {
  readonly path: string;
  readonly remove: (name: string) => void;
}

/** A folder of its own, mode 0700; on a machine without a server it finds the one of this test run. */
export function createTestHome(): TestHome {
  const parent = mkdtempSync(join(tmpdir(), 'gatewright-home-'));
  lendSoftware(parent);
  return {
    path: parent,
    remove: (name) => rmSync(join(parent, name)),
    [Symbol.dispose]: () => rmSync(parent, { recursive: true, force: true }),
  };
}

/** Lets `home` use the server of this test run, on a machine without an installed one. */
export function lendSoftware(home: string): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  if (existsSync(softwareDirectory)) symlinkSync(softwareDirectory, softwareDirectoryOf(home));
}
