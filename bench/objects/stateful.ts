/** Measures stored objects: a search against a bare scan, ingestion against its tokenizer, a response against a chat. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/cl100k_base';
import { createLog } from '../../src/log.ts';
import { embed, vectorBytes } from '../../src/objects/ingestion/embeddings.ts';
import { FileIngestion, leaseMs } from '../../src/objects/ingestion/file-ingestion.ts';
import { FileReadPool } from '../../src/objects/ingestion/file-read-pool.ts';
import type { ModelCalls } from '../../src/objects/model-calls.ts';
import { EngineRanking } from '../../src/objects/search/engine-ranking.ts';
import { Scans } from '../../src/objects/search/scans.ts';
import { StoreContents } from '../../src/objects/search/store-contents.ts';
import { VectorSearch } from '../../src/objects/search/vector-search.ts';
import { Secret } from '../../src/secret.ts';
import type { DatabaseSettings } from '../../src/settings.ts';
import { type Database, openDatabase } from '../../src/store/connection/db.ts';
import { DatabaseBlobs } from '../../src/store/database-blobs.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import * as files from '../../src/store/objects/files.ts';
import * as vectorChunks from '../../src/store/objects/vector-chunks.ts';
import * as storeFiles from '../../src/store/objects/vector-store-files.ts';
import * as vectorStores from '../../src/store/objects/vector-stores.ts';
import { StoredBlobs } from '../../src/store/stored-blobs.ts';
import {
  externalDatabaseServer,
  startTestDatabaseServer,
} from '../../test/support/database/database-server.ts';
import { type Member, quartilesOf, type Row } from '../harness.ts';
import { engineIndex, searchWithoutMemory } from './engine-index.ts';
import { storedResponseRows } from './stored-responses.ts';

const now = Date.parse('2026-11-23T00:00:00Z');
const owner = {
  organisationId: 'b6e7a3f0-0000-4000-8000-000000000001',
  workspaceId: '',
  apiKeyId: 'k',
};
const dimensions = 384;
const resultsMax = 10;
const searchRounds = 41;
const ingestionRounds = 5;
const mebibyte = 1024 * 1024;

export const member: Member = {
  name: 'stateful: search, ingestion, stored responses',
  run: async (scale): Promise<Row[]> => {
    const server =
      externalDatabaseServer(process.env.TEST_DATABASE_URL) ??
      (await startTestDatabaseServer(['--innodb-buffer-pool-size=512M']));
    const { host, port, user, password } = server.server;
    const settings: DatabaseSettings = {
      host,
      port,
      socketPath: null,
      user,
      name: `gatewright_bench_${process.pid}`,
      poolSize: 8,
      password: new Secret(password, 'bench'),
      tls: { mode: 'DISABLED', ca: null, cert: null, key: null },
    };
    try {
      await migrate(settings, { log: createLog({ level: 'silent' }) });
      const rows: Row[] = [];
      {
        await using database = openDatabase(settings);
        const files = Math.max(2, Math.round(100 * scale));
        rows.push(...(await search(database, { files, chunksOfFile: 1_000 })));
        rows.push(...(await search(database, { files: files * 100, chunksOfFile: 10 })));
        rows.push(...(await ingestion(database)));
      }
      return [...rows, ...(await storedResponseRows(settings))];
    } finally {
      await server.stop();
    }
  },
};

interface Cost {
  /** User and system time of all threads of this process. */
  readonly cpuMs: number;
  readonly wallMs: number;
}

async function cost(work: () => unknown): Promise<Cost> {
  const before = process.cpuUsage();
  const began = performance.now();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { cpuMs: (user + system) / 1000, wallMs: performance.now() - began };
}

function ratioOf(
  metric: string,
  pairs: readonly (readonly [number, number])[],
  aim: number | null,
): Row {
  const [lower, ratio, upper] = quartilesOf(pairs.map(([top, base]) => top / base));
  return { metric, ratio, aim, quartiles: [lower, upper] };
}

interface Shape {
  readonly files: number;
  readonly chunksOfFile: number;
}

/** Fills a store with random unit vectors and returns them as one matrix. */
async function fill(
  database: Database,
  store: vectorStores.StoredVectorStore,
  { files: fileCount, chunksOfFile }: Shape,
) {
  const matrix = new Float32Array(fileCount * chunksOfFile * dimensions);
  await vectorStores.insert(database.db, { ...store });
  for (let file = 0; file < fileCount; file += 1) {
    const id = `file_${file}`;
    await storeFiles.put(database.db, storeFileRow(store, id, chunksOfFile));
    for (let from = 0; from < chunksOfFile; from += 250) {
      const rows = Array.from({ length: Math.min(250, chunksOfFile) }, (_, n) => {
        const at = (file * chunksOfFile + from + n) * dimensions;
        const vector = matrix.subarray(at, at + dimensions);
        drawUnit(vector);
        return {
          organisation_id: store.organisation_id,
          vector_store_id: store.id,
          file_id: id,
          number: from + n,
          content: 'Text of this chunk. '.repeat(40),
          embedding: vectorBytes(vector),
        };
      });
      await vectorChunks.insert(database.db, rows);
    }
  }
  return matrix;
}

function drawUnit(vector: Float32Array): void {
  let square = 0;
  for (let n = 0; n < vector.length; n += 1) {
    const number = Math.random() - 0.5;
    vector[n] = number;
    square += number * number;
  }
  const length = Math.sqrt(square);
  for (let n = 0; n < vector.length; n += 1) vector[n] = vector[n]! / length;
}

/** Compares a complete search, except for the model call, with a single-threaded matrix-vector product. */
async function search(database: Database, shape: Shape): Promise<Row[]> {
  const store = storeRow(`vs_search_${shape.files}`, dimensions);
  const matrix = await fill(database, store, shape);
  const models = modelsOf(dimensions);
  using stored = new DisposableStack();
  const openSearch = (heldBytesMax: number) => {
    const scans = stored.use(new Scans(heldBytesMax));
    const ranking = new EngineRanking(database.db);
    return new VectorSearch({ database, contents: new StoreContents(), scans, ranking });
  };
  const searching = openSearch(256 * mebibyte);
  const requested = { queries: ['a'], filters: null, limit: resultsMax, scoreMin: 0, models, now };
  const [query] = await embed(models, 'm', ['a']);
  const pairs: (readonly [Cost, Cost])[] = [];
  for (let round = -2; round < searchRounds; round += 1) {
    const bare = await cost(() => bareScan(matrix, query!));
    const ours = await cost(() => searching.search(store, owner, requested));
    if (round >= 0) pairs.push([ours, bare]);
  }
  const label = `search of ${(shape.files * shape.chunksOfFile).toLocaleString('en')} chunks in ${shape.files.toLocaleString('en')} files`;
  return [
    ratioOf(
      `${label} / bare scan, wall clock`,
      pairs.map(([a, b]) => [a.wallMs, b.wallMs]),
      1.5,
    ),
    ratioOf(
      `${label} / bare scan, CPU`,
      pairs.map(([a, b]) => [a.cpuMs, b.cpuMs]),
      null,
    ),
    ...(await searchWithoutMemory(label, {
      vectorSearch: openSearch(64 * mebibyte),
      store,
      owner,
      query: requested,
      inMemory: pairs.map(([a]) => a.wallMs),
    })),
    ...(shape.chunksOfFile === 1_000 ? await engineIndex(database, matrix, dimensions) : []),
  ];
}

/** Finds the best row. Four separate sums let additions run in parallel. */
function bareScan(matrix: Float32Array, query: Float32Array): number {
  let best = -1;
  for (let at = 0; at < matrix.length; at += dimensions) {
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let n = 0; n < dimensions; n += 4) {
      a += matrix[at + n]! * query[n]!;
      b += matrix[at + n + 1]! * query[n + 1]!;
      c += matrix[at + n + 2]! * query[n + 2]!;
      d += matrix[at + n + 3]! * query[n + 3]!;
    }
    best = Math.max(best, a + b + c + d);
  }
  return best;
}

/** Compares the ingestion of a file (read, split, embed, write) with counting its tokens alone. */
async function ingestion(database: Database): Promise<Row[]> {
  const text = prose(mebibyte);
  const blobs = new StoredBlobs({
    database,
    now: () => now,
    writesTo: 'database',
    places: { database: new DatabaseBlobs(database) },
  });
  using readings = new FileReadPool();
  const models = modelsOf(dimensions);
  const store = storeRow('vs_ingestion', dimensions);
  await vectorStores.insert(database.db, { ...store });
  const pairs: (readonly [number, number])[] = [];
  for (let round = -1; round < ingestionRounds; round += 1) {
    const bare = await cost(() => countTokens(text));
    const id = `file_${round + 1}`;
    await storeFile(database, blobs, id, text);
    const row = storeFileRow(store, id, 0);
    await storeFiles.put(database.db, row);
    const place = { organisationId: owner.organisationId, vectorStoreId: store.id, id };
    const lease = randomBytes(16);
    await storeFiles.takeLease(database.db, place, lease, { now, until: now + leaseMs });
    const task = { owner, store, models, row, place, lease, isClosing: () => false };
    const options = { database, blobs, readings, now: () => now };
    const ours = await cost(() => new FileIngestion(options, task).run());
    if (round >= 0) pairs.push([ours.cpuMs, bare.cpuMs]);
  }
  return [ratioOf('ingestion of 1 MB of text / its tokenizer alone, CPU', pairs, null)];
}

async function storeFile(database: Database, blobs: StoredBlobs, id: string, text: string) {
  const content = Buffer.from(text);
  const pieces = (async function* () {
    yield content;
  })();
  const written = await blobs.write({ organisationId: owner.organisationId, id }, pieces);
  await database.transaction(async (tx) => {
    await blobs.keep(tx, written);
    await files.insert(tx, {
      organisation_id: owner.organisationId,
      id,
      workspace_id: '',
      api_key_id: 'k',
      name: 'a.txt',
      purpose: 'assistants',
      bytes: content.length,
      created_at: now,
      expires_at: null,
    });
  });
}

/** Repeats the documentation of this repository up to the given size. */
function prose(bytes: number): string {
  const folder = resolve(import.meta.dirname, '../../docs');
  const texts = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(resolve(folder, name), 'utf8'));
  const text = texts.join('\n');
  return text.repeat(Math.ceil(bytes / text.length)).slice(0, bytes);
}

/** A model whose embeddings cost almost nothing; they differ in one component. */
function modelsOf(width: number): ModelCalls {
  const embeddings = Array.from({ length: 32 }, (_, index) =>
    Array.from({ length: width }, (_, n) => (n === index % width ? 1 : 0.1)),
  );
  return {
    call: async (_, { input }) => {
      const data = (input as string[]).map((_, index) => ({ index, embedding: embeddings[index] }));
      return { status: 200, body: { data } };
    },
  };
}

function storeRow(id: string, width: number): vectorStores.StoredVectorStore {
  return {
    organisation_id: owner.organisationId,
    id,
    workspace_id: '',
    api_key_id: 'k',
    name: null,
    description: null,
    metadata: '{}',
    embedding_model: 'm',
    dimensions: width,
    contents: 0,
    status: 'active',
    expires_after_days: null,
    expires_at: null,
    created_at: now,
    last_active_at: now,
  };
}

function storeFileRow(
  store: vectorStores.StoredVectorStore,
  id: string,
  chunks: number,
): storeFiles.StoredVectorStoreFile {
  return {
    organisation_id: store.organisation_id,
    vector_store_id: store.id,
    id,
    batch_id: null,
    status: chunks > 0 ? 'completed' : 'in_progress',
    error_code: null,
    error_message: null,
    attributes: '{}',
    chunk_tokens: 800,
    overlap_tokens: 400,
    usage_bytes: 0,
    chunks,
    lease: null,
    leased_until: 0,
    created_at: now,
  };
}
