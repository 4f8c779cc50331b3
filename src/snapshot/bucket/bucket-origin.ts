/** Reads the snapshot that the builder has saved in a bucket, for a gateway without its usual origin. */
import { decodePack } from '../reading/pack-file.ts';
import type { SnapshotOrigin } from '../reading/snapshot-origin.ts';
import { type BucketFolder, type BucketHead, findHead } from './bucket-files.ts';

/** @param heldAtMs returns when the held snapshot was built; an older one in the bucket is not read */
export function bucketOrigin(folder: BucketFolder, heldAtMs: () => number): SnapshotOrigin {
  let head: BucketHead | null = null;
  const readBefore = new Set<string>();
  /** Objects of the packs that were read for this head. */
  let fresh = new Map<string, Buffer>();
  const readPacks = async (isWanted: (name: string) => boolean): Promise<void> => {
    for (const { name, bytes } of head?.packs ?? []) {
      if (!isWanted(name)) continue;
      const read = await folder.read(name, bytes);
      // The objects of a missing pack are refused as missing.
      if (read === null) continue;
      const objects = decodePack(read, `the file ${name} in ${folder.description}`);
      for (const { etag, sealed } of objects) fresh.set(etag, sealed);
      readBefore.add(name);
    }
  };
  return {
    isAuthoritative: false,
    readState: async () => {
      head = await findHead(folder, heldAtMs());
      fresh = new Map();
      const sealedHead = head?.sealedHead ?? null;
      return { exists: head !== null, sealedHead, hasPending: false, confirmedAtMs: null };
    },
    readObjects: async (addresses) => {
      const isFresh = (): boolean => addresses.every(({ etag }) => fresh.has(etag));
      // Objects of packs that were read before are held, unless that reading failed.
      if (!isFresh()) await readPacks((name) => !readBefore.has(name));
      if (!isFresh()) await readPacks(() => true);
      return fresh;
    },
  };
}
