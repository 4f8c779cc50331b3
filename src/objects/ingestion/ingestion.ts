/** Knows which files of vector stores a process works on: those that nobody else does, by a lease. */

import { randomBytes } from 'node:crypto';
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
  LeaseLost,
  leaseMs,
} from './file-ingestion.ts';

export interface IngestionOptions extends FileIngestionOptions {
  /** A file that somebody else is to go on with, as the database or the process failed. */
  readonly onFault: (error: unknown) => void;
}

/** A model that takes longer is not waited for: the lease lapses. */
const closingMsMax = 5_000;
/** Of one store by one process. */
const takenAtOnceMax = 4;

/** Work on one store. */
interface Busy {
  /** Whether there may be more to do than was found. */
  again: boolean;
  work: Promise<void>;
}

/**
 * Every statement that changes something asks for the lease. When it lapses, as the process was killed, the
 * next request about the store goes on behind the chunks that are written, in the name of its caller, so that
 * no credential of the first one has to be kept.
 */
export class Ingestion {
  readonly #options: IngestionOptions;
  /** Stores that this process is at work on. */
  readonly #busy = new Map<string, Busy>();
  #isClosed = false;

  constructor(options: IngestionOptions) {
    this.#options = options;
  }

  /** Works on all files of the store that nobody is at work on; the caller does not wait for it. */
  start(owner: Owner, store: vectorStores.StoredVectorStore, models: ModelCalls): void {
    const key = `${store.organisation_id}/${store.id}`;
    const known = this.#busy.get(key);
    // It may have looked for files before the one was there that this is called for.
    if (known !== undefined) known.again = true;
    if (this.#isClosed || known !== undefined) return;
    const busy: Busy = { again: false, work: Promise.resolve() };
    this.#busy.set(key, busy);
    busy.work = this.#workUntilNone(busy, () => this.#workOn(owner, store, models)).finally(() =>
      this.#busy.delete(key),
    );
  }

  async #workUntilNone(busy: Busy, work: () => Promise<void>): Promise<void> {
    do {
      busy.again = false;
      await work().catch(this.#options.onFault);
    } while (busy.again && !this.#isClosed);
  }

  /** Begins nothing more; what is under way ends with the chunks that are being embedded, for others to go on with. */
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
      const due = await storeFiles.listLapsed(database.db, place, now(), takenAtOnceMax);
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
    // Files wait for one another to be read, and a model may take long.
    const beat = setInterval(() => void ingestion.renew().catch(() => null), leaseMs / 4);
    try {
      await ingestion.run();
      await database.transaction((tx) => storeFiles.complete(tx, place, lease));
    } catch (error) {
      if (error instanceof LeaseLost) return;
      // Whatever it was cut off by is no fault of the file: it is left to others, at once.
      if (this.#isClosed) return void (await ingestion.renew().catch(() => null));
      // The lease lapses, and somebody tries again.
      if (isUnavailable(error)) throw error;
      const { code, message } = failureOf(error);
      await storeFiles.updateLeased(database.db, place, lease, {
        ...{ status: 'failed', error_code: code, error_message: message.slice(0, 512) },
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
  return { code: 'internal_error', message: 'The file could not be worked on' };
}
