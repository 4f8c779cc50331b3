/** Knows where embeddings are kept and looked through: in a thread, as many as there is room for, those used last. */
import { Worker } from 'node:worker_threads';
import type { Nearest } from './nearest.ts';

export type ScanOrder =
  | { readonly kind: 'keep'; readonly key: string; readonly rows: Float32Array<ArrayBuffer> }
  | { readonly kind: 'drop'; readonly key: string }
  | {
      readonly kind: 'scan';
      readonly id: number;
      readonly keys: readonly string[];
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
  readonly read: () => Promise<Float32Array<ArrayBuffer>>;
}

export interface Scan {
  readonly matrices: readonly ScannedMatrix[];
  readonly queries: readonly Float32Array[];
  /** Of rows for each query. */
  readonly limit: number;
  readonly scoreMin: number;
}

/** Dispose of it when nobody searches any more; who still waits is told by an error. */
export class Scans implements Disposable {
  readonly #bytesMax: number;
  /** Bytes of what the thread has been sent, those used last at the end. */
  readonly #held = new Map<string, number>();
  #heldBytes = 0;
  #worker: Worker | null = null;
  #nextId = 0;
  readonly #waiting = new Map<number, PromiseWithResolvers<ScanFound['found']>>();
  /** Resolves when nobody fetches what the thread does not hold. */
  #fetched: Promise<unknown> = Promise.resolve();

  /** @param bytesMax of all embeddings that are held; those of one file are held in any case */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The best rows of each query, best first. */
  async scan(scan: Scan): Promise<Nearest[][]> {
    const best: Nearest[][] = scan.queries.map(() => []);
    const { limit } = scan;
    for (let from = 0; from < scan.matrices.length; ) {
      const to = this.#endOfGroup(scan.matrices, from);
      const found = await this.#scanGroup(scan, scan.matrices.slice(from, to));
      for (const [n, nearest] of found.entries()) {
        const placed = nearest.map((one) => ({ ...one, matrix: one.matrix + from }));
        best[n] = [...best[n]!, ...placed].sort((a, b) => b.score - a.score).slice(0, limit);
      }
      from = to;
    }
    return best;
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

  #scanGroup(scan: Scan, group: readonly ScannedMatrix[]): Promise<ScanFound['found']> {
    if (group.every(({ key }) => this.#held.has(key))) return this.#ask(scan, group);
    // One after the other: nobody else drops what a group is about to be looked through with.
    const found = this.#fetched.then(async () => {
      for (const matrix of group) {
        if (!this.#held.has(matrix.key)) this.#keep(matrix.key, await matrix.read());
      }
      return { asked: this.#ask(scan, group) };
    });
    this.#fetched = found.then(
      () => this.#dropOldest(),
      () => this.#dropOldest(),
    );
    return found.then(({ asked }) => asked);
  }

  #keep(key: string, rows: Float32Array<ArrayBuffer>): void {
    this.#held.set(key, rows.byteLength);
    this.#heldBytes += rows.byteLength;
    this.#tell({ kind: 'keep', key, rows }, [rows.buffer]);
  }

  #dropOldest(): void {
    for (const [key, bytes] of this.#held) {
      if (this.#heldBytes <= this.#bytesMax) return;
      this.#held.delete(key);
      this.#heldBytes -= bytes;
      this.#tell({ kind: 'drop', key });
    }
  }

  #ask({ queries, limit, scoreMin }: Scan, group: readonly ScannedMatrix[]) {
    const waiting = Promise.withResolvers<ScanFound['found']>();
    const id = this.#nextId++;
    const keys = group.map(({ key }) => key);
    for (const key of keys) {
      const bytes = this.#held.get(key)!;
      this.#held.delete(key);
      this.#held.set(key, bytes);
    }
    this.#waiting.set(id, waiting);
    this.#tell({ kind: 'scan', id, keys, queries, limit, scoreMin });
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
