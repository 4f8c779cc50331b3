/**
 * Finds the rows of a matrix that are nearest to a vector by comparing all of them. Written by hand: an
 * exact scan needs no index, and stores are too small for an approximate one to pay off.
 */

export interface NearestRow {
  /** Index of the matrix among those searched. */
  readonly matrix: number;
  readonly row: number;
  /** Cosine similarity, because all vectors have length 1. */
  readonly score: number;
}

export function bestRows(nearest: readonly NearestRow[], limit: number): NearestRow[] {
  return nearest.toSorted((a, b) => b.score - a.score).slice(0, limit);
}

/** Collects the nearest rows, best first: at most `limit`, none below `scoreMin`. */
export class NearestRowCollector {
  readonly #limit: number;
  readonly #scoreMin: number;
  readonly #rows: NearestRow[] = [];

  constructor(limit: number, scoreMin: number) {
    this.#limit = limit;
    this.#scoreMin = scoreMin;
  }

  /** `rows` contains the rows one after the other, each as long as the query. */
  add(matrix: number, rows: Float32Array, query: Float32Array): void {
    const width = query.length;
    let worst = this.#worst();
    for (let row = 0, at = 0; at < rows.length; row += 1, at += width) {
      const score = dotProduct(rows, at, query);
      if (score > worst) {
        this.#insert({ matrix, row, score });
        worst = this.#worst();
      }
    }
  }

  get rows(): readonly NearestRow[] {
    return this.#rows;
  }

  /** A row is added only if its score is above this. */
  #worst(): number {
    const isFull = this.#rows.length === this.#limit;
    return isFull ? this.#rows.at(-1)!.score : this.#scoreMin - Number.EPSILON;
  }

  #insert(nearest: NearestRow): void {
    const at = this.#rows.findIndex(({ score }) => score < nearest.score);
    this.#rows.splice(at < 0 ? this.#rows.length : at, 0, nearest);
    if (this.#rows.length > this.#limit) this.#rows.pop();
  }
}

/** Dot product with four independent sums, so that no addition waits for the previous one. */
function dotProduct(rows: Float32Array, at: number, query: Float32Array): number {
  const width = query.length;
  const even = width - (width % 4);
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let n = 0; n < even; n += 4) {
    a += rows[at + n]! * query[n]!;
    b += rows[at + n + 1]! * query[n + 1]!;
    c += rows[at + n + 2]! * query[n + 2]!;
    d += rows[at + n + 3]! * query[n + 3]!;
  }
  for (let n = even; n < width; n += 1) a += rows[at + n]! * query[n]!;
  return a + b + c + d;
}
