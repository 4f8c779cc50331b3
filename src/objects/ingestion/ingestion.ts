/** Ingests the files of vector stores that no other process works on, coordinated by leases. */

import { randomBytes } from 'node:crypto';
import { detach } from '../../detached.ts';
import { isUnavailable } from '../../store/connection/unavailable.ts';
import * as storeFiles from '../../store/objects/vector-store-files.ts';
import type * as vectorStores from '../../store/objects/vector-stores.ts';
import type { ModelCalls } from '../model-calls.ts';
import type { Owner } from '../owner.ts';
import { EmbeddingError } from './embeddings.ts';
import {
  FileIngestion,
  type FileIngestionOptions,
  IngestionError,
  LeaseLostError,
  leaseMs,
} from './file-ingestion.ts';

export interface IngestionOptions extends FileIngestionOptions {
  /** Called when the database or the process failed and another process must continue with a file. */
  readonly onFault: (error: unknown) => void;
}

/** On shutdown, slower model calls are not awaited; the lease expires instead. */
const closingMsMax = 5_000;
/** Files fetched at a time for one store. */
const filesPerQuery = 4;

/** Ongoing work on one store. */
interface StoreWork {
  /** Whether files may have been added since the last query. */
  again: boolean;
  work: Promise<void>;
}

/**
 * Ingests files under leases; every statement that changes something checks the lease. If the process is
 * killed, the lease expires, and the next request about the store continues after the stored chunks on
 * behalf of its own caller. No credential of the first caller has to be stored.
 */
export class Ingestion {
  readonly #options: IngestionOptions;
  /** Stores that this process works on. */
  readonly #busy = new Map<string, StoreWork>();
  #isClosed = false;

  constructor(options: IngestionOptions) {
    this.#options = options;
  }

  /** Ingests all files of the store without a lease; does not wait for them. */
  start(owner: Owner, store: vectorStores.StoredVectorStore, models: ModelCalls): void {
    const key = `${store.organisation_id}/${store.id}`;
    const existing = this.#busy.get(key);
    // Its query may have preceded the insertion of the new file.
    if (existing !== undefined) existing.again = true;
    if (this.#isClosed || existing !== undefined) return;
    const busy: StoreWork = { again: false, work: Promise.resolve() };
    this.#busy.set(key, busy);
    busy.work = this.#workUntilNone(busy, () => this.#workOn(owner, store, models)).finally(() =>
      this.#busy.delete(key),
    );
  }

  async #workUntilNone(busy: StoreWork, work: () => Promise<void>): Promise<void> {
    do {
      busy.again = false;
      await work().catch(this.#options.onFault);
    } while (busy.again && !this.#isClosed);
  }

  /** Starts no further work. Current work ends after the chunks being embedded; other processes continue. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, closingMsMax);
    await Promise.race([late, Promise.all(this.#busy.values().map(({ work }) => work))]);
    clearTimeout(timer);
  }

  async #workOn(
    owner: Owner,
    store: vectorStores.StoredVectorStore,
    models: ModelCalls,
  ): Promise<void> {
    const { database, now } = this.#options;
    const place = { organisationId: store.organisation_id, vectorStoreId: store.id };
    for (;;) {
      const due = await storeFiles.listLapsed(database.db, place, now(), filesPerQuery);
      if (due.length === 0) return;
      for (const row of due) {
        if (this.#isClosed) return;
        await this.#take(owner, store, models, row);
      }
    }
  }

  async #take(
    owner: Owner,
    store: vectorStores.StoredVectorStore,
    models: ModelCalls,
    row: storeFiles.StoredVectorStoreFile,
  ): Promise<void> {
    const { database, now } = this.#options;
    const place = { organisationId: store.organisation_id, vectorStoreId: store.id, id: row.id };
    const lease = randomBytes(16);
    const times = { now: now(), until: now() + leaseMs };
    if (!(await storeFiles.takeLease(database.db, place, lease, times))) return;
    const isClosing = () => this.#isClosed;
    const task = { owner, store, models, row, place, lease, isClosing };
    const ingestion = new FileIngestion(this.#options, task);
    // Files wait for their turn to be read, and a model can be slow.
    const renew = (): void =>
      detach(
        'renewing the lease of a file',
        ingestion.renew().catch(() => null),
      );
    const beat = setInterval(renew, leaseMs / 4);
    try {
      await ingestion.run();
      await database.transaction((tx) => storeFiles.complete(tx, place, lease));
    } catch (error) {
      if (error instanceof LeaseLostError) return;
      // An interruption by the shutdown is not the file's fault: other processes continue at once.
      if (this.#isClosed) return void (await ingestion.renew().catch(() => null));
      // The lease expires, and another process retries.
      if (isUnavailable(error)) throw error;
      const { code, message } = failureOf(error);
      await storeFiles.updateLeased(database.db, place, lease, {
        status: 'failed',
        error_code: code,
        error_message: message.slice(0, 512),
      });
      if (code === 'internal_error') this.#options.onFault(error);
    } finally {
      clearInterval(beat);
    }
  }
}

function failureOf(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof IngestionError) return error;
  if (error instanceof EmbeddingError) return { code: 'server_error', message: error.message };
  return { code: 'internal_error', message: 'The file could not be processed' };
}
