/** Reads files of a release folder without leaving it, within bounds. */
import { createHash } from 'node:crypto';
import { createReadStream, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ReleaseFault } from './release-fault.ts';

/** The largest document that is read whole: manifests, bundles, SBOMs, checksums. */
export const documentBytesMax = 32 * 2 ** 20;

/**
 * Joins a path of a list with its folder.
 *
 * @throws ReleaseFault when the path leads out of the folder or is not of a regular file
 */
export function requireFile(folder: string, path: string): string {
  const parts = path.split('/');
  if (
    path.includes('\\') ||
    path.includes('\0') ||
    parts.some((part) => /^(?:\.{0,2})$/.test(part))
  ) {
    throw new ReleaseFault(`the path ${JSON.stringify(path)} leads out of the folder`);
  }
  let at = folder;
  for (const [index, part] of parts.entries()) {
    at = join(at, part);
    const facts = lstatSync(at, { throwIfNoEntry: false });
    const isLast = index === parts.length - 1;
    if (facts === undefined) throw new ReleaseFault(`the file ${path} is missing`);
    if (facts.isSymbolicLink()) throw new ReleaseFault(`${path} is or passes a symbolic link`);
    if (isLast ? !facts.isFile() : !facts.isDirectory()) {
      throw new ReleaseFault(`${path} is not a regular file`);
    }
  }
  return at;
}

/** @throws ReleaseFault when the file is missing, outside of the folder, or too large */
export function readReleaseFile(folder: string, path: string): Buffer {
  const file = requireFile(folder, path);
  const { size } = lstatSync(file);
  if (size > documentBytesMax) {
    throw new ReleaseFault(`${path} has ${size} bytes, more than ${documentBytesMax}`);
  }
  return readFileSync(file);
}

/** The SHA-256 of a file in hexadecimal. */
export async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** @throws ReleaseFault naming the document that is not JSON */
export function parseReleaseJson(bytes: Buffer, name: string): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    throw new ReleaseFault(`${name} is not JSON`);
  }
}
