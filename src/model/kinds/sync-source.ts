/**
 * Defines the copy of a source that sync leaves on the server, from which changes of manifests are proposed.
 */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { z } from 'zod';
import { Commit } from './sync-record.ts';

/** Characters of all files of a copy together. */
const sourceCharactersMax = 8 * 1024 * 1024;
const sourceFilesMax = 20_000;
/** Bytes of the JSON text of a copy: escapes and paths need more than the files. */
const unpackedBytesMax = 4 * sourceCharactersMax;
/** Bytes of a compressed copy in base64. */
const packedCharactersMax = 4 * 1024 * 1024;

/** A file of the source with what decides how it is read. */
const CopiedFile = z.strictObject({
  /** As in positions: relative to the source, with `/`. */
  path: z.string().min(1).max(2048),
  text: z.string(),
  isNamed: z.boolean().optional(),
  inEnvironment: z.string().max(2048).optional(),
  location: z.int().min(0).optional(),
});

const Environment = z.strictObject({
  name: z.string().max(253),
  path: z.string().max(2048),
  isChosen: z.boolean(),
});

export const SourceCopy = z.strictObject({
  /** Folder path or Git URL without credentials. */
  repo: z.string().min(1).max(2048),
  /** Commit id; null for a folder. */
  revision: z.string().max(255).nullable(),
  /** The selected environment; null for none. */
  environment: z.string().max(253).nullable(),
  environments: z.array(Environment).max(1000),
  files: z.array(CopiedFile).max(sourceFilesMax),
});
export type SourceCopy = z.infer<typeof SourceCopy>;

/** The body that stores a copy. `files` is the JSON of a `SourceCopy`, compressed with gzip, in base64. */
export const SyncSource = z.object({
  commit: Commit,
  /** Null where the files are too large: nothing can be proposed then. */
  files: z
    .base64()
    .min(4)
    .max(packedCharactersMax)
    .nullable()
    .describe('Files as JSON, compressed with gzip, in base64; null where they are too large.'),
});
export type SyncSource = z.infer<typeof SyncSource>;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** The place for which the stored copy of an owner is sealed. */
export function placeOfSource({
  organisation_id: organisationId,
  owner,
}: {
  readonly organisation_id: string;
  readonly owner: string;
}): string {
  return ['sync_sources', organisationId, owner, 'files'].join('|');
}

/** Returns the copy as `files` of a body; null when it exceeds a limit. */
export async function packSource(copy: SourceCopy): Promise<string | null> {
  const characters = copy.files.reduce((sum, { text }) => sum + text.length, 0);
  if (characters > sourceCharactersMax || !SourceCopy.safeParse(copy).success) return null;
  const packed = (await compress(JSON.stringify(copy))).toString('base64');
  return packed.length > packedCharactersMax ? null : packed;
}

/** Returns null for a text that is not a packed copy. */
export async function unpackSource(packed: string): Promise<SourceCopy | null> {
  try {
    const bytes = Buffer.from(packed, 'base64');
    const text = await decompress(bytes, { maxOutputLength: unpackedBytesMax });
    return SourceCopy.safeParse(JSON.parse(text.toString('utf8'))).data ?? null;
  } catch {
    return null;
  }
}
