/** Knows how the embeddings of files come out of the database: of many small files by one statement. */
import type { Db } from '../../store/connection/db.ts';
import * as vectorChunks from '../../store/objects/vector-chunks.ts';
import type { StorePlace } from '../../store/objects/vector-store-files.ts';
import { numbersOf } from '../ingestion/embeddings.ts';
import type { SearchedFile } from './store-contents.ts';

/** Each with its file, one at a time; none for a file that has been taken out meanwhile. */
export async function* readEmbeddings(
  db: Db,
  place: StorePlace,
  files: readonly SearchedFile[],
): AsyncGenerator<readonly [SearchedFile, Float32Array<ArrayBuffer>]> {
  for (const some of groupsOf(files)) {
    const [first] = some as [SearchedFile];
    if (some.length === 1) {
      yield [first, await readWhole(db, place, first)];
      continue;
    }
    const ids = some.map(({ id }) => id);
    const read = await vectorChunks.listEmbeddings(db, place, ids);
    for (const file of some) yield [file, numbersOf(read.get(file.id) ?? Buffer.alloc(0))];
  }
}

/** Page by page into its place: to move all of a large file at once would hold up everybody else. */
async function readWhole(
  db: Db,
  place: StorePlace,
  { id, bytes }: SearchedFile,
): Promise<Float32Array<ArrayBuffer>> {
  const whole = new Float32Array(bytes / Float32Array.BYTES_PER_ELEMENT);
  let length = 0;
  for await (const page of vectorChunks.readEmbeddings(db, { ...place, id })) {
    const numbers = numbersOf(page).subarray(0, whole.length - length);
    whole.set(numbers, length);
    length += numbers.length;
  }
  return whole.subarray(0, length);
}

/** As many as one statement reads, and one at least. */
function* groupsOf(files: readonly SearchedFile[]): Generator<SearchedFile[]> {
  let group: SearchedFile[] = [];
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
