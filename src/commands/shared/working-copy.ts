/** Detects files in a Git working tree, where they are easily committed. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The root of the Git working tree that contains `path` (absolute), or null. */
export function workingCopyOf(path: string): string | null {
  const folder = dirname(path);
  if (existsSync(join(folder, '.git'))) return folder;
  return folder === dirname(folder) ? null : workingCopyOf(folder);
}
