/** Opens the folder of the bucket of stored files in which the snapshot is saved. */
import { BlobMissing } from '../../blobs/blob-store.ts';
import { S3 } from '../../blobs/s3.ts';
import type { Clock } from '../../clock.ts';
import type { Settings } from '../../settings.ts';
import type { BucketFolder } from '../../snapshot/bucket/bucket-files.ts';

/** In the place of an organisation, whose ids are UUIDs. */
const organisationId = 'snapshot';

/** Null when the snapshot is not saved in a bucket. */
export function openBucketFolder(
  { snapshot, blobs, proxies }: Pick<Settings, 'snapshot' | 'blobs' | 'proxies'>,
  clock: Clock,
): BucketFolder | null {
  if (!snapshot.isInBucket || blobs.s3 === null) return null;
  const bucket = new S3(blobs.s3, proxies, () => clock.now());
  return {
    description: `the bucket ${blobs.s3.bucket}`,
    list: () => bucket.list(organisationId),
    read: async (id, bytes) => {
      try {
        return Buffer.concat(await Array.fromAsync(bucket.read({ organisationId, id }, bytes)));
      } catch (error) {
        if (error instanceof BlobMissing) return null;
        throw error;
      }
    },
    write: (id, bytes) => bucket.write({ organisationId, id }, once(bytes)),
    delete: (id) => bucket.delete({ organisationId, id }),
    [Symbol.asyncDispose]: () => bucket[Symbol.asyncDispose](),
  };
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
