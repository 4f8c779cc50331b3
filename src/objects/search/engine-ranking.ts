/** Knows how the database itself finds what is nearest to a question, where its engine compares vectors, so that they need not be read. */
import type { Db } from '../../store/connection/db.ts';
import * as vectorChunks from '../../store/objects/vector-chunks.ts';
import type { StorePlace } from '../../store/objects/vector-store-files.ts';
import { bytesOf } from '../ingestion/embeddings.ts';
import { best, type Nearest } from './nearest.ts';
import type { Scan } from './scans.ts';
import type { SearchedFile } from './store-contents.ts';

/** Of embeddings that one statement looks at, which takes a tenth of a second for them. */
const statementBytesMax = 64 * 1024 * 1024;

export class EngineRanking {
  readonly #db: Db;
  /** Null until the engine was asked. */
  #canRank: boolean | null = null;

  constructor(db: Db) {
    this.#db = db;
  }

  /** For each question, best first, of `matrices` of one store; null where the engine cannot tell. */
  async rank(place: StorePlace, scan: Scan<SearchedFile>): Promise<Nearest[][] | null> {
    this.#canRank ??= await vectorChunks.canRank(this.#db);
    if (!this.#canRank) return null;
    const found: Nearest[][] = [];
    for (const query of scan.queries) found.push(await this.#rankOne(place, scan, query));
    return found;
  }

  async #rankOne(
    place: StorePlace,
    { matrices, limit, scoreMin }: Scan<SearchedFile>,
    vector: Float32Array,
  ): Promise<Nearest[]> {
    const query = bytesOf(vector);
    let found: Nearest[] = [];
    for (let from = 0; from < matrices.length; ) {
      const to = endOfStatement(matrices, from);
      const places = new Map(matrices.slice(from, to).map(({ id }, at) => [id, from + at]));
      const asked = { query, limit, scoreMin };
      const rows = await vectorChunks.listNearest(this.#db, place, [...places.keys()], asked);
      const nearest = rows.map(({ file_id, number, score }): Nearest => {
        return { matrix: places.get(file_id)!, row: number, score };
      });
      found = best([...found, ...nearest], limit);
      from = to;
    }
    return found;
  }
}

/** One at least. */
function endOfStatement(files: readonly SearchedFile[], from: number): number {
  let bytes = 0;
  for (let at = from; at < files.length; at += 1) {
    bytes += files[at]!.bytes;
    if (bytes > statementBytesMax && at > from) return at;
  }
  return files.length;
}
