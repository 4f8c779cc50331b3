/** Knows whether a file would lie in a Git working tree, from where it is easily committed. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The root of the working tree that `path` (absolute) lies in, or null. */
export function workingCopyOf(path: string): string | null {
  const folder = dirname(path);
  if (existsSync(join(folder, '.git'))) return folder;
  return folder === dirname(folder) ? null : workingCopyOf(folder);
}
