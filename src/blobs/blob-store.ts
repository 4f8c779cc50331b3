/** Knows what a place for large bytes is asked for, wherever it is, and what it says when it fails. */

/** Names bytes: letters, digits, `_` and `-` in either part. */
export interface BlobKey {
  readonly organisationId: string;
  readonly id: string;
}

/** Dispose closes what is open. Every method rejects with {@link BlobUnavailable} where the place does not do its part. */
export interface BlobStore extends AsyncDisposable {
  /** Resolves when all of it would outlive the machine. Nothing is there under the key before; when it rejects, some may be. */
  write(key: BlobKey, pieces: AsyncIterable<Buffer>): Promise<void>;
  /** Yields all of the `bytes` that were written, or throws; a piece is taken when it is asked for. */
  read(key: BlobKey, bytes: number): AsyncIterable<Buffer>;
  /** Leaves nothing of it, nor of a writing that was cut off; also where nothing is. */
  delete(key: BlobKey): Promise<void>;
}

/** The message is for people, and holds nothing secret. */
export class BlobUnavailable extends Error {
  override name = 'BlobUnavailable';
}

/** Something else is there than was written. */
export class BlobDamaged extends BlobUnavailable {
  override name = 'BlobDamaged';

  constructor() {
    super('What is kept there is not what was written');
  }
}

const namePattern = /^[\w-]{1,64}$/;

/** The names of a key, which are names of files and objects, too. */
export function namesOf({ organisationId, id }: BlobKey): readonly [string, string] {
  if (namePattern.test(organisationId) && namePattern.test(id)) return [organisationId, id];
  throw new RangeError('The key of a blob has other letters than it may have');
}

/** The same bytes in pieces of `bytesMax`, the last one shorter; each is a copy that nobody else writes to. */
export async function* cut(
  pieces: AsyncIterable<Buffer>,
  bytesMax: number,
): AsyncGenerator<Buffer, void> {
  let held = Buffer.allocUnsafeSlow(0);
  let used = 0;
  for await (const piece of pieces) {
    let at = 0;
    while (at < piece.length) {
      if (used === held.length) held = grown(held, used, bytesMax, piece.length - at);
      const taken = piece.copy(held, used, at);
      at += taken;
      used += taken;
      if (used < bytesMax) continue;
      yield held;
      held = Buffer.allocUnsafeSlow(0);
      used = 0;
    }
  }
  if (used > 0) yield held.subarray(0, used);
}

/** Twice as large, so that what is small takes little room. */
function grown(held: Buffer, used: number, bytesMax: number, wanted: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafeSlow(Math.min(bytesMax, Math.max(used * 2, wanted, 16_384)));
  held.copy(larger, 0, 0, used);
  return larger;
}
