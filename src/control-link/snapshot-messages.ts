/** Defines the messages by which a gateway reads sealed snapshots from its control plane. */
import { z } from 'zod';
import type { ObjectAddress } from '../snapshot/reading/read-update.ts';
import type { OriginState } from '../snapshot/reading/snapshot-origin.ts';
import { bytesAsBase64 } from './base64-bytes.ts';

/** `known` is the etag of the held head; the answer waits for a change for a while when it is the newest one. */
export const StateRequest = z.strictObject({ known: bytesAsBase64.nullable() });

export const StateAnswer: z.ZodType<OriginState> = z.object({
  sealedHead: bytesAsBase64.nullable(),
  exists: z.boolean(),
  hasPending: z.boolean(),
  confirmedAtMs: z.int().nullable(),
});

/** Objects of one request. */
export const objectsMax = 32;
const etagCharsMax = 64;

export const ObjectsRequest: z.ZodType<{ readonly addresses: readonly ObjectAddress[] }> =
  z.strictObject({
    addresses: z
      .array(
        z.strictObject({
          organisationId: z.string().max(36),
          etag: z.string().max(etagCharsMax),
        }),
      )
      .max(objectsMax),
  });

/** Marks an object that does not exist. */
const missingLength = 0xffff_ffff;
const lengthBytes = 4;

/** Joins objects in the order of their request, each behind its length; null for one that does not exist. */
export function joinObjects(objects: readonly (Buffer | null)[]): Buffer {
  return Buffer.concat(
    objects.flatMap((object) => {
      const length = Buffer.alloc(lengthBytes);
      length.writeUInt32BE(object?.length ?? missingLength);
      return object === null ? [length] : [length, object];
    }),
  );
}

/** @throws RangeError when the bytes are no joined objects */
export function splitObjects(joined: Buffer): (Buffer | null)[] {
  const objects: (Buffer | null)[] = [];
  for (let at = 0; at < joined.length; ) {
    const length = joined.readUInt32BE(at);
    at += lengthBytes;
    if (length === missingLength) {
      objects.push(null);
      continue;
    }
    if (at + length > joined.length) throw new RangeError('an object of the snapshot is cut off');
    objects.push(joined.subarray(at, at + length));
    at += length;
  }
  return objects;
}
