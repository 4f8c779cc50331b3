/** Knows where embeddings are kept and looked through: in a thread, as many as there is room for, those used last. */
import { Worker } from 'node:worker_threads';
import { best, type Nearest } from './nearest.ts';

export type ScanOrder =
  | { readonly kind: 'keep'; readonly matrix: number; readonly rows: Float32Array<ArrayBuffer> }
  | { readonly kind: 'drop'; readonly matrix: number }
  | {
      readonly kind: 'scan';
      readonly id: number;
      /** By the numbers that they are kept under. */
      readonly matrices: Int32Array;
      readonly queries: readonly Float32Array[];
      readonly limit: number;
      readonly scoreMin: number;
    };

/** For each query, best first. */
export interface ScanFound {
  readonly id: number;
  readonly found: readonly (readonly Nearest[])[];
}

/** The embeddings of one file, which never change under their key. */
export interface ScannedMatrix {
  readonly key: string;
  readonly bytes: number;
}

export interface Scan<Matrix extends ScannedMatrix> {
  readonly matrices: readonly Matrix[];
  readonly queries: readonly Float32Array[];
  /** Of rows for each query. */
  readonly limit: number;
  readonly scoreMin: number;
}

/** Reads some that are not held, one after the other. */
export type ReadMatrices<Matrix> = (
  matrices: readonly Matrix[],
) => AsyncIterable<readonly [Matrix, Float32Array<ArrayBuffer>]>;

/** One that the thread has been sent. */
interface Held {
  readonly number: number;
  readonly bytes: number;
  /** By the number of the scan. */
  usedAt: number;
}

/** Who lacks no more does not wait for those who lack much. */
const littleBytesMax = 16 * 1024 * 1024;

function amountOf(lacking: readonly ScannedMatrix[]): 'much' | 'little' {
  const bytes = lacking.reduce((sum, one) => sum + one.bytes, 0);
  return bytes > littleBytesMax ? 'much' : 'little';
}

/** What groups are about to be looked through with: nobody else drops it meanwhile. */
class WantedMatrices {
  /** Of groups, by key. */
  readonly #counts = new Map<string, number>();

  has(key: string): boolean {
    return this.#counts.has(key);
  }

  count(group: readonly ScannedMatrix[], more: 1 | -1): void {
    for (const { key } of group) {
      const count = (this.#counts.get(key) ?? 0) + more;
      if (count > 0) this.#counts.set(key, count);
      else this.#counts.delete(key);
    }
  }
}

/** Dispose of it when nobody searches any more; who still waits is told by an error. */
export class Scans implements Disposable {
  readonly #bytesMax: number;
  readonly #held = new Map<string, Held>();
  #heldBytes = 0;
  #worker: Worker | null = null;
  #nextId = 0;
  #nextNumber = 0;
  readonly #waiting = new Map<number, PromiseWithResolvers<ScanFound['found']>>();
  /** Resolve when nobody fetches what the thread does not hold: much of it, or little. */
  readonly #fetched: Record<'much' | 'little', Promise<unknown>> = {
    much: Promise.resolve(),
    little: Promise.resolve(),
  };
  readonly #wanted = new WantedMatrices();

  /** @param bytesMax of all embeddings that are held; those of one file are held in any case */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The best rows of each query, best first. */
  async scan<Matrix extends ScannedMatrix>(
    scan: Scan<Matrix>,
    read: ReadMatrices<Matrix>,
  ): Promise<Nearest[][]> {
    let found: Nearest[][] = scan.queries.map(() => []);
    for (let from = 0; from < scan.matrices.length; ) {
      const to = this.#endOfGroup(scan.matrices, from);
      const some = await this.#scanGroup(scan, scan.matrices.slice(from, to), read);
      found = found.map((nearest, n) => {
        const placed = some[n]!.map((one) => ({ ...one, matrix: one.matrix + from }));
        return best([...nearest, ...placed], scan.limit);
      });
      from = to;
    }
    return found;
  }

  /** Whether so many bytes can be held at once. */
  fits(bytes: number): boolean {
    return bytes <= this.#bytesMax;
  }

  /** As many as there is room for, and one at least. */
  #endOfGroup(matrices: readonly ScannedMatrix[], from: number): number {
    let bytes = 0;
    for (let at = from; at < matrices.length; at += 1) {
      bytes += matrices[at]!.bytes;
      if (bytes > this.#bytesMax && at > from) return at;
    }
    return matrices.length;
  }

  #scanGroup<Matrix extends ScannedMatrix>(
    scan: Scan<Matrix>,
    group: readonly Matrix[],
    read: ReadMatrices<Matrix>,
  ): Promise<ScanFound['found']> {
    const lacking = group.filter(({ key }) => !this.#held.has(key));
    if (lacking.length === 0) return this.#ask(scan, group);
    const amount = amountOf(lacking);
    // One after the other, so that no more is fetched at once than there is room for.
    const found = this.#fetched[amount].then(async () => {
      this.#wanted.count(group, 1);
      try {
        const missing = group.filter(({ key }) => !this.#held.has(key));
        for await (const [{ key }, rows] of read(missing)) this.#keep(key, rows);
        return { asked: this.#ask(scan, group) };
      } finally {
        this.#wanted.count(group, -1);
      }
    });
    this.#fetched[amount] = found.then(
      () => this.#dropOldest(),
      () => this.#dropOldest(),
    );
    return found.then(({ asked }) => asked);
  }

  #keep(key: string, rows: Float32Array<ArrayBuffer>): void {
    // Another has fetched it, too.
    if (this.#held.has(key)) return;
    const held = { number: this.#nextNumber++, bytes: rows.byteLength, usedAt: this.#nextId };
    this.#held.set(key, held);
    this.#heldBytes += held.bytes;
    this.#tell({ kind: 'keep', matrix: held.number, rows }, [rows.buffer]);
  }

  #dropOldest(): void {
    if (this.#heldBytes <= this.#bytesMax) return;
    const byUse = [...this.#held].sort(([, a], [, b]) => a.usedAt - b.usedAt);
    for (const [key, { number, bytes }] of byUse) {
      if (this.#heldBytes <= this.#bytesMax) return;
      if (this.#wanted.has(key)) continue;
      this.#held.delete(key);
      this.#heldBytes -= bytes;
      this.#tell({ kind: 'drop', matrix: number });
    }
  }

  #ask({ queries, limit, scoreMin }: Scan<ScannedMatrix>, group: readonly ScannedMatrix[]) {
    const waiting = Promise.withResolvers<ScanFound['found']>();
    const id = this.#nextId++;
    const matrices = Int32Array.from(group, ({ key }) => {
      const held = this.#held.get(key)!;
      held.usedAt = id;
      return held.number;
    });
    this.#waiting.set(id, waiting);
    this.#tell({ kind: 'scan', id, matrices, queries, limit, scoreMin });
    this.#worker!.ref();
    return waiting.promise;
  }

  #tell(order: ScanOrder, moved: ArrayBuffer[] = []): void {
    this.#worker ??= this.#start();
    this.#worker.postMessage(order, moved);
  }

  #start(): Worker {
    const isSource = import.meta.url.endsWith('.ts');
    const body = isSource ? './scanning-thread.ts' : '../scanning-thread.js';
    const worker = new Worker(new URL(body, import.meta.url));
    worker.on('message', ({ id, found }: ScanFound) => {
      this.#waiting.get(id)?.resolve(found);
      this.#waiting.delete(id);
      // A thread that has nothing to do keeps no process alive.
      if (this.#waiting.size === 0) worker.unref();
    });
    worker.on('error', (error) => {
      if (worker === this.#worker) this.#end(error);
    });
    worker.unref();
    return worker;
  }

  #end(error: Error): void {
    void this.#worker?.terminate();
    this.#worker = null;
    this.#held.clear();
    this.#heldBytes = 0;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  [Symbol.dispose](): void {
    this.#end(new Error('the gateway ends'));
  }
}
