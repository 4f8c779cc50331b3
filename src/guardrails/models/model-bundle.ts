/** Reads the folder of a model, and verifies its files by the digests in its manifest. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ModelManifest } from '../../model/guardrails/model-manifest.ts';
import { readJson } from '../../model/json/read-object.ts';

/** The folder cannot be used; the message says why. */
export class ModelUnusable extends Error {
  override name = 'ModelUnusable';
}

/** @throws ModelUnusable */
export function readModelManifest(folder: string): ModelManifest {
  const path = join(folder, 'manifest.json');
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw unreadable(path, cause);
  }
  const parsed = ModelManifest.safeParse(readJson(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ModelUnusable(`${path}: ${issue!.path.join('.') || 'it'} ${issue!.message}`);
}

/**
 * Reads a file of the manifest, so that exactly the verified bytes are used.
 *
 * @throws ModelUnusable for a file with another digest
 */
export async function readVerified(
  folder: string,
  manifest: ModelManifest,
  name: string,
): Promise<Buffer> {
  const path = join(folder, name);
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    throw unreadable(path, cause);
  }
  const digest = createHash('sha256').update(bytes).digest('hex');
  if (digest === manifest.files[name]) return bytes;
  throw new ModelUnusable(`${path} has not the SHA-256 of the manifest`);
}

function unreadable(path: string, cause: unknown): ModelUnusable {
  const { code } = cause as NodeJS.ErrnoException;
  return new ModelUnusable(`${path} cannot be read (${code})`, { cause });
}
