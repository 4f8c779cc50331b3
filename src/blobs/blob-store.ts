/** Defines the interface of blob stores and their errors. */

/** Key of a blob; both parts consist of letters, digits, `_` and `-`. */
export interface BlobKey {
  readonly organisationId: string;
  readonly id: string;
}

/** Every method rejects with {@link BlobUnavailable} when the storage fails. Dispose closes connections. */
export interface BlobStore extends AsyncDisposable {
  /** Resolves when the blob is durable. The key must be unused; after a rejection, parts may be stored under it. */
  write(key: BlobKey, pieces: AsyncIterable<Buffer>): Promise<void>;
  /** Yields all `bytes` that were written, or throws. Pieces are read on demand. */
  read(key: BlobKey, bytes: number): AsyncIterable<Buffer>;
  /** Deletes the blob and the parts of an interrupted write; succeeds when there is nothing. */
  delete(key: BlobKey): Promise<void>;
}

/** The message is for users and contains no secret. */
export class BlobUnavailable extends Error {
  override name = 'BlobUnavailable';
}

/** Nothing is stored under the key. */
export class BlobMissing extends BlobUnavailable {
  override name = 'BlobMissing';
}

/** The stored bytes differ from those that were written. */
export class BlobDamaged extends BlobUnavailable {
  override name = 'BlobDamaged';

  constructor() {
    super('The stored bytes differ from those that were written');
  }
}

const namePattern = /^[\w-]{1,64}$/;

/** Returns both parts of a key, which are safe as names of files and objects. @throws RangeError */
export function namesOf({ organisationId, id }: BlobKey): readonly [string, string] {
  if (namePattern.test(organisationId) && namePattern.test(id)) return [organisationId, id];
  throw new RangeError('The key of a blob contains a character that is not allowed');
}

/** Repacks the bytes into pieces of `bytesMax`, the last one shorter. Each piece is a new buffer. */
export async function* repack(
  pieces: AsyncIterable<Buffer>,
  bytesMax: number,
): AsyncGenerator<Buffer, void> {
  let buffer = Buffer.allocUnsafeSlow(0);
  let used = 0;
  for await (const piece of pieces) {
    let at = 0;
    while (at < piece.length) {
      if (used === buffer.length) buffer = enlarged(buffer, used, bytesMax, piece.length - at);
      const copied = piece.copy(buffer, used, at);
      at += copied;
      used += copied;
      if (used < bytesMax) continue;
      yield buffer;
      buffer = Buffer.allocUnsafeSlow(0);
      used = 0;
    }
  }
  if (used > 0) yield buffer.subarray(0, used);
}

/** Doubles the buffer, so that small blobs need little memory. */
function enlarged(
  buffer: Buffer,
  used: number,
  bytesMax: number,
  bytesNeeded: number,
): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafeSlow(
    Math.min(bytesMax, Math.max(used * 2, bytesNeeded, 16_384)),
  );
  buffer.copy(larger, 0, 0, used);
  return larger;
}
