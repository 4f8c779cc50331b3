/** Knows how what concerns files and vector stores is put together, and how it ends. */
import type { Database } from '../../store/connection/db.ts';
import type { KeptBlobs } from '../../store/kept-blobs.ts';
import type { ObjectFamily } from '../object-request.ts';
import type { StoreSearch } from '../store-search.ts';
import { EngineRanking } from '../search/engine-ranking.ts';
import { FileBatches } from './file-batches.ts';
import { Files } from './files.ts';
import { Ingestion } from '../ingestion/ingestion.ts';
import { Readings } from '../ingestion/readings.ts';
import { Scans } from '../search/scans.ts';
import { StoreContents } from '../search/store-contents.ts';
import { StoreFiles } from './store-files.ts';
import { StoreSearches } from './store-searches.ts';
import { VectorSearch } from '../search/vector-search.ts';
import { VectorStores } from './vector-stores.ts';

export interface VectorFamilies extends AsyncDisposable {
  readonly families: readonly ObjectFamily[];
  readonly storeSearch: StoreSearch;
}

export interface VectorFamiliesOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly blobs: KeptBlobs;
  /** Of one file. */
  readonly fileBytesMax: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Of work that nobody waits for. */
  readonly onFault: (error: unknown) => void;
}

/** 100,000 chunks of 384 numbers take 150 MiB. */
const heldBytesMax = 256 * 1024 * 1024;

/** Dispose of them when no request comes any more. */
export function vectorFamilies(options: VectorFamiliesOptions): VectorFamilies {
  const { database, blobs, fileBytesMax, now, onFault } = options;
  const readings = new Readings();
  const scans = new Scans(heldBytesMax);
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
