/** Knows how the rows of a matrix are found that are nearest to a vector: all are looked at. */

export interface Nearest {
  /** Which matrix, of those that were looked into. */
  readonly matrix: number;
  readonly row: number;
  /** Cosine, as everything has length 1. */
  readonly score: number;
}

export function best(some: readonly Nearest[], limit: number): Nearest[] {
  return some.toSorted((a, b) => b.score - a.score).slice(0, limit);
}

/** The nearest of all, best first, at most `limit`, none below `scoreMin`. */
export class NearestRows {
  readonly #limit: number;
  readonly #scoreMin: number;
  readonly #found: Nearest[] = [];

  constructor(limit: number, scoreMin: number) {
    this.#limit = limit;
    this.#scoreMin = scoreMin;
  }

  /** Rows lie one after the other, each as long as the query. */
  look(matrix: number, rows: Float32Array, query: Float32Array): void {
    const width = query.length;
    let worst = this.#worst();
    for (let row = 0, at = 0; at < rows.length; row += 1, at += width) {
      const score = product(rows, at, query);
      if (score > worst) {
        this.#keep({ matrix, row, score });
        worst = this.#worst();
      }
    }
  }

  get found(): readonly Nearest[] {
    return this.#found;
  }

  /** Only what is better is kept. */
  #worst(): number {
    const isFull = this.#found.length === this.#limit;
    return isFull ? this.#found.at(-1)!.score : this.#scoreMin - Number.EPSILON;
  }

  #keep(nearest: Nearest): void {
    const at = this.#found.findIndex(({ score }) => score < nearest.score);
    this.#found.splice(at < 0 ? this.#found.length : at, 0, nearest);
    if (this.#found.length > this.#limit) this.#found.pop();
  }
}

/** Four sums, so that no addition waits for the one before. */
function product(rows: Float32Array, at: number, query: Float32Array): number {
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
