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

/** Dispose of it when nobody searches any more; who still waits is told by an error. */
export class Scans implements Disposable {
  readonly #bytesMax: number;
  readonly #held = new Map<string, Held>();
  #heldBytes = 0;
  #worker: Worker | null = null;
  #nextId = 0;
  #nextNumber = 0;
  readonly #waiting = new Map<number, PromiseWithResolvers<ScanFound['found']>>();
  /** Resolves when nobody fetches what the thread does not hold. */
  #fetched: Promise<unknown> = Promise.resolve();

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
    if (group.every(({ key }) => this.#held.has(key))) return this.#ask(scan, group);
    // One after the other: nobody else drops what a group is about to be looked through with.
    const found = this.#fetched.then(async () => {
      const missing = group.filter(({ key }) => !this.#held.has(key));
      for await (const [{ key }, rows] of read(missing)) this.#keep(key, rows);
      return { asked: this.#ask(scan, group) };
    });
    this.#fetched = found.then(
      () => this.#dropOldest(),
      () => this.#dropOldest(),
    );
    return found.then(({ asked }) => asked);
  }

  #keep(key: string, rows: Float32Array<ArrayBuffer>): void {
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
