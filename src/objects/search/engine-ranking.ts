/** Ranks embeddings in the database, if its engine can compare vectors, so that they need not be transferred. */
import type { Db } from '../../store/connection/db.ts';
import * as vectorChunks from '../../store/objects/vector-chunks.ts';
import type { StoreKey } from '../../store/objects/vector-store-files.ts';
import { vectorBytes } from '../ingestion/embeddings.ts';
import { bestRows, type NearestRow } from './nearest.ts';
import type { Scan } from './scans.ts';
import type { ScannableFile } from './store-contents.ts';

/** Embeddings compared by one statement, which takes a tenth of a second for this many bytes. */
const statementBytesMax = 64 * 1024 * 1024;

export class EngineRanking {
  readonly #db: Db;
  /** Null until the engine has been queried. */
  #canRank: boolean | null = null;

  constructor(db: Db) {
    this.#db = db;
  }

  /** For each query the nearest rows of one store, best first; null if the engine cannot compare vectors. */
  async rank(place: StoreKey, scan: Scan<ScannableFile>): Promise<NearestRow[][] | null> {
    this.#canRank ??= await vectorChunks.canRank(this.#db);
    if (!this.#canRank) return null;
    const results: NearestRow[][] = [];
    for (const query of scan.queries) results.push(await this.#rankOne(place, scan, query));
    return results;
  }

  async #rankOne(
    place: StoreKey,
    { matrices, limit, scoreMin }: Scan<ScannableFile>,
    vector: Float32Array,
  ): Promise<NearestRow[]> {
    const query = vectorBytes(vector);
    let nearest: NearestRow[] = [];
    for (let from = 0; from < matrices.length; ) {
      const to = endOfGroup(matrices, from);
      const indexes = new Map(matrices.slice(from, to).map(({ id }, at) => [id, from + at]));
      const options = { query, limit, scoreMin };
      const rows = await vectorChunks.listNearest(this.#db, place, [...indexes.keys()], options);
      const added = rows.map(({ file_id, number, score }): NearestRow => {
        return { matrix: indexes.get(file_id)!, row: number, score };
      });
      nearest = bestRows([...nearest, ...added], limit);
      from = to;
    }
    return nearest;
  }
}

/** Returns the end of a group of files for one statement; the group contains at least one. */
function endOfGroup(files: readonly ScannableFile[], from: number): number {
  let bytes = 0;
  for (let at = from; at < files.length; at += 1) {
    bytes += files[at]!.bytes;
    if (bytes > statementBytesMax && at > from) return at;
  }
  return files.length;
}
