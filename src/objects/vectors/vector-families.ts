/** Assembles and disposes the object families for files and vector stores. */
import type { Database } from '../../store/connection/db.ts';
import type { StoredBlobs } from '../../store/stored-blobs.ts';
import { FileReadPool } from '../ingestion/file-read-pool.ts';
import { Ingestion } from '../ingestion/ingestion.ts';
import type { ObjectFamily } from '../object-request.ts';
import { EngineRanking } from '../search/engine-ranking.ts';
import { Scans } from '../search/scans.ts';
import { StoreContents } from '../search/store-contents.ts';
import { VectorSearch } from '../search/vector-search.ts';
import type { StoreSearch } from '../store-search.ts';
import { FileBatches } from './file-batches.ts';
import { Files } from './files.ts';
import { StoreFiles } from './store-files.ts';
import { StoreSearches } from './store-searches.ts';
import { VectorStores } from './vector-stores.ts';

export interface VectorFamilies extends AsyncDisposable {
  readonly families: readonly ObjectFamily[];
  readonly storeSearch: StoreSearch;
}

export interface VectorFamiliesOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly blobs: StoredBlobs;
  /** Maximum size of one file. */
  readonly fileBytesMax: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Receives errors of background work. */
  readonly onFault: (error: unknown) => void;
}

/** 100,000 chunks of 384 dimensions take 150 MiB. */
const cachedBytesMax = 256 * 1024 * 1024;

/** Dispose the result after the last request. */
export function vectorFamilies(options: VectorFamiliesOptions): VectorFamilies {
  const { database, blobs, fileBytesMax, now, onFault } = options;
  const readings = new FileReadPool();
  const scans = new Scans(cachedBytesMax);
  const ingestion = new Ingestion({ database, blobs, now, readings, onFault });
  const storeFiles = new StoreFiles(database);
  const batches = new FileBatches(database, storeFiles);
  const ranking = new EngineRanking(database.db);
  const search = new VectorSearch({ database, contents: new StoreContents(), scans, ranking });
  return {
    families: [
      new Files({ database, blobs, fileBytesMax, now }),
      new VectorStores({ database, ingestion, storeFiles, batches, search }),
    ],
    storeSearch: new StoreSearches(database, search),
    [Symbol.asyncDispose]: async () => {
      await ingestion.close();
      readings[Symbol.dispose]();
      scans[Symbol.dispose]();
    },
  };
}
