/** Searches embeddings in a worker thread, which caches the most recently used ones within a memory limit. */

import { Worker } from 'node:worker_threads';
import { detach } from '../../detached.ts';
import { threadModule } from '../../task-thread.ts';
import { bestRows, type NearestRow } from './nearest.ts';

export type ScanOrder =
  | { readonly kind: 'keep'; readonly matrix: number; readonly rows: Float32Array<ArrayBuffer> }
  | { readonly kind: 'drop'; readonly matrix: number }
  | {
      readonly kind: 'scan';
      readonly id: number;
      /** Numbers of the cached matrices. */
      readonly matrices: Int32Array;
      readonly queries: readonly Float32Array[];
      readonly limit: number;
      readonly scoreMin: number;
    };

/** The nearest rows of each query, best first. */
export interface ScanResult {
  readonly id: number;
  readonly found: readonly (readonly NearestRow[])[];
}

/** The embeddings of one file. They never change under one key. */
export interface ScannedMatrix {
  readonly key: string;
  readonly bytes: number;
}

export interface Scan<Matrix extends ScannedMatrix> {
  readonly matrices: readonly Matrix[];
  readonly queries: readonly Float32Array[];
  /** Maximum rows for each query. */
  readonly limit: number;
  readonly scoreMin: number;
}

/** Reads matrices that are not cached, one after the other. */
export type ReadMatrices<Matrix> = (
  matrices: readonly Matrix[],
) => AsyncIterable<readonly [Matrix, Float32Array<ArrayBuffer>]>;

/** A matrix that is cached in the thread. */
interface CachedMatrix {
  readonly number: number;
  readonly bytes: number;
  /** Number of the last scan that used it. */
  usedAt: number;
}

/** Scans with at most this much to load do not wait for scans with more. */
const littleBytesMax = 16 * 1024 * 1024;

function amountOf(lacking: readonly ScannedMatrix[]): 'much' | 'little' {
  const bytes = lacking.reduce((sum, matrix) => sum + matrix.bytes, 0);
  return bytes > littleBytesMax ? 'much' : 'little';
}

/** Matrices that pending scans need, which must not be dropped from the cache. */
class NeededMatrices {
  /** Number of pending groups by key. */
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

/** Disposal rejects the scans that are still waiting. */
export class Scans implements Disposable {
  readonly #bytesMax: number;
  readonly #cached = new Map<string, CachedMatrix>();
  #cachedBytes = 0;
  #worker: Worker | null = null;
  #nextId = 0;
  #nextNumber = 0;
  readonly #waiting = new Map<number, PromiseWithResolvers<ScanResult['found']>>();
  /** Resolve when no scan of that size is loading matrices. */
  readonly #loaded: Record<'much' | 'little', Promise<unknown>> = {
    much: Promise.resolve(),
    little: Promise.resolve(),
  };
  readonly #needed = new NeededMatrices();

  /** @param bytesMax limit on all cached embeddings; those of one file are cached regardless */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Returns the nearest rows for each query, best first. */
  async scan<Matrix extends ScannedMatrix>(
    scan: Scan<Matrix>,
    read: ReadMatrices<Matrix>,
  ): Promise<NearestRow[][]> {
    let results: NearestRow[][] = scan.queries.map(() => []);
    for (let from = 0; from < scan.matrices.length; ) {
      const to = this.#endOfGroup(scan.matrices, from);
      const group = await this.#scanGroup(scan, scan.matrices.slice(from, to), read);
      results = results.map((nearest, n) => {
        const added = group[n]!.map((row) => ({ ...row, matrix: row.matrix + from }));
        return bestRows([...nearest, ...added], scan.limit);
      });
      from = to;
    }
    return results;
  }

  /** Whether this many bytes fit into the cache. */
  fits(bytes: number): boolean {
    return bytes <= this.#bytesMax;
  }

  /** Returns the end of a group of matrices that fit into the cache; the group contains at least one. */
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
  ): Promise<ScanResult['found']> {
    const lacking = group.filter(({ key }) => !this.#cached.has(key));
    if (lacking.length === 0) return this.#runScan(scan, group);
    const amount = amountOf(lacking);
    // Loads run one after the other, so that no more is loaded at once than fits.
    const pending = this.#loaded[amount].then(async () => {
      this.#needed.count(group, 1);
      try {
        const missing = group.filter(({ key }) => !this.#cached.has(key));
        for await (const [{ key }, rows] of read(missing)) this.#cache(key, rows);
        return { result: this.#runScan(scan, group) };
      } finally {
        this.#needed.count(group, -1);
      }
    });
    this.#loaded[amount] = pending.then(
      () => this.#dropOldest(),
      () => this.#dropOldest(),
    );
    return pending.then(({ result }) => result);
  }

  #cache(key: string, rows: Float32Array<ArrayBuffer>): void {
    // Another scan has loaded it meanwhile.
    if (this.#cached.has(key)) return;
    const held = { number: this.#nextNumber++, bytes: rows.byteLength, usedAt: this.#nextId };
    this.#cached.set(key, held);
    this.#cachedBytes += held.bytes;
    this.#send({ kind: 'keep', matrix: held.number, rows }, [rows.buffer]);
  }

  #dropOldest(): void {
    if (this.#cachedBytes <= this.#bytesMax) return;
    const byUse = [...this.#cached].sort(([, a], [, b]) => a.usedAt - b.usedAt);
    for (const [key, { number, bytes }] of byUse) {
      if (this.#cachedBytes <= this.#bytesMax) return;
      if (this.#needed.has(key)) continue;
      this.#cached.delete(key);
      this.#cachedBytes -= bytes;
      this.#send({ kind: 'drop', matrix: number });
    }
  }

  #runScan({ queries, limit, scoreMin }: Scan<ScannedMatrix>, group: readonly ScannedMatrix[]) {
    const waiting = Promise.withResolvers<ScanResult['found']>();
    const id = this.#nextId++;
    const matrices = Int32Array.from(group, ({ key }) => {
      const held = this.#cached.get(key)!;
      held.usedAt = id;
      return held.number;
    });
    this.#waiting.set(id, waiting);
    this.#send({ kind: 'scan', id, matrices, queries, limit, scoreMin });
    this.#worker!.ref();
    return waiting.promise;
  }

  #send(order: ScanOrder, moved: ArrayBuffer[] = []): void {
    this.#worker ??= this.#start();
    this.#worker.postMessage(order, moved);
  }

  #start(): Worker {
    const worker = new Worker(threadModule('scanning-thread', import.meta.url));
    worker.on('message', ({ id, found }: ScanResult) => {
      this.#waiting.get(id)?.resolve(found);
      this.#waiting.delete(id);
      // An idle thread must not keep the process alive.
      if (this.#waiting.size === 0) worker.unref();
    });
    worker.on('error', (error) => {
      if (worker === this.#worker) this.#end(error);
    });
    worker.unref();
    return worker;
  }

  #end(error: Error): void {
    detach('the end of a search thread', this.#worker?.terminate());
    this.#worker = null;
    this.#cached.clear();
    this.#cachedBytes = 0;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  [Symbol.dispose](): void {
    this.#end(new Error('the gateway is shutting down'));
  }
}
