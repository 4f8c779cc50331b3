/** Reads the embeddings of files from the database; small files are combined into one statement. */
import type { Db } from '../../store/connection/db.ts';
import * as vectorChunks from '../../store/objects/vector-chunks.ts';
import type { StoreKey } from '../../store/objects/vector-store-files.ts';
import { readVectors } from '../ingestion/embeddings.ts';
import type { ScannableFile } from './store-contents.ts';

/** Yields each file with its embeddings; empty embeddings if the file was deleted meanwhile. */
export async function* loadEmbeddings(
  db: Db,
  place: StoreKey,
  files: readonly ScannableFile[],
): AsyncGenerator<readonly [ScannableFile, Float32Array<ArrayBuffer>]> {
  for (const group of groupsOf(files)) {
    const [first] = group as [ScannableFile];
    if (group.length === 1) {
      yield [first, await readWhole(db, place, first)];
      continue;
    }
    const ids = group.map(({ id }) => id);
    const read = await vectorChunks.listEmbeddings(db, place, ids);
    for (const file of group) yield [file, readVectors(read.get(file.id) ?? Buffer.alloc(0))];
  }
}

/** Reads page by page, because copying a large file at once would block the event loop. */
async function readWhole(
  db: Db,
  place: StoreKey,
  { id, bytes }: ScannableFile,
): Promise<Float32Array<ArrayBuffer>> {
  const whole = new Float32Array(bytes / Float32Array.BYTES_PER_ELEMENT);
  let length = 0;
  for await (const page of vectorChunks.readEmbeddings(db, { ...place, id })) {
    const numbers = readVectors(page).subarray(0, whole.length - length);
    whole.set(numbers, length);
    length += numbers.length;
  }
  return whole.subarray(0, length);
}

/** Groups as many files as one statement reads, at least one. */
function* groupsOf(files: readonly ScannableFile[]): Generator<ScannableFile[]> {
  let group: ScannableFile[] = [];
  let chunks = 0;
  for (const file of files) {
    if (group.length > 0 && chunks + file.chunks > vectorChunks.pageRows) {
      yield group;
      [group, chunks] = [[], 0];
    }
    group.push(file);
    chunks += file.chunks;
  }
  if (group.length > 0) yield group;
}
