/** Reads and writes state files of a home atomically, and sets damaged ones aside. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { z } from 'zod';

/** Replaces `path` atomically, even across a crash; readable by its owner only. */
export function writeStateFile(path: string, text: string): void {
  const unfinished = `${path}.new`;
  writeFileSync(unfinished, text, { mode: 0o600, flush: true });
  renameSync(unfinished, path);
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** The state in a JSON file; `isDamaged` if it is invalid; null if the file does not exist. */
export function inspectStateFile<T>(
  path: string,
  schema: z.ZodType<T>,
): { readonly isDamaged: false; readonly state: T } | { readonly isDamaged: true } | null {
  if (!existsSync(path)) return null;
  const parsed = statSync(path).isFile()
    ? schema.safeParse(jsonOf(readFileSync(path, 'utf8')))
    : { success: false as const };
  return parsed.success ? { isDamaged: false, state: parsed.data } : { isDamaged: true };
}

/** Renames a damaged file to a free name beside it and returns that path. */
export function setAside(path: string): string {
  let aside = `${path}.damaged`;
  for (let number = 2; existsSync(aside); number += 1) aside = `${path}.damaged-${number}`;
  renameSync(path, aside);
  return aside;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
