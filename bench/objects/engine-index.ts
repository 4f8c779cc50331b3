/** Measures a search whose vectors exceed the memory limit, and the vector index of the database engine. */
import { sql } from 'kysely';
import { vectorBytes } from '../../src/objects/ingestion/embeddings.ts';
import type { Owner } from '../../src/objects/owner.ts';
import {
  bestRows,
  type NearestRow,
  NearestRowCollector,
} from '../../src/objects/search/nearest.ts';
import type { VectorSearch } from '../../src/objects/search/vector-search.ts';
import type { TextQuery } from '../../src/objects/store-search.ts';
import type { Database } from '../../src/store/connection/db.ts';
import { canRank } from '../../src/store/objects/vector-chunks.ts';
import type { StoredVectorStore } from '../../src/store/objects/vector-stores.ts';
import { quartilesOf, type Row } from '../harness.ts';

const rounds = 11;
const questions = 41;
/** Dimensions in which the embeddings vary: those of real texts vary in few directions. */
const clusterDimensions = 24;
const limit = 10;

/** Compares a search without enough memory with an in-memory search of the same store. */
export async function searchWithoutMemory(
  label: string,
  search: {
    readonly vectorSearch: VectorSearch;
    readonly store: StoredVectorStore;
    readonly owner: Owner;
    readonly query: TextQuery;
    readonly inMemory: readonly number[];
  },
): Promise<Row[]> {
  const { vectorSearch: searching, store, owner, query: requested, inMemory } = search;
  const ratios: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const ms = await wallMs(() => searching.search(store, owner, requested));
    if (round >= 0) ratios.push(ms / inMemory[round % inMemory.length]!);
  }
  const [lower, ratio, upper] = quartilesOf(ratios);
  const metric = `${label}, without memory / in memory, wall clock`;
  return [{ metric, ratio, aim: null, quartiles: [lower, upper] }];
}

/** Measures speed and recall of the engine's vector index; no rows if the engine has none. */
export async function engineIndex(
  database: Database,
  { length }: Float32Array,
  dimensions: number,
): Promise<Row[]> {
  const { db } = database;
  if (!(await canRank(db))) {
    process.stdout.write('  skipped: this database engine has no vector index\n');
    return [];
  }
  const draw = clusteredEmbeddings(dimensions);
  const matrix = new Float32Array(length);
  for (let at = 0; at < length; at += dimensions) matrix.set(draw(), at);
  const insertMs = await wallMs(() => fillIndexed(database, matrix, dimensions));
  const plainMs = await wallMs(() => fillPlain(database, matrix, dimensions));
  const ratios: number[] = [];
  let right = 0;
  for (let n = 0; n < questions; n += 1) {
    const query = draw();
    let exact: readonly NearestRow[] = [];
    const scanMs = await wallMs(() => {
      const rows = new NearestRowCollector(limit, -1);
      rows.add(0, matrix, query);
      exact = bestRows(rows.rows, limit);
    });
    let reported: readonly { readonly id: number }[] = [];
    const indexMs = await wallMs(async () => {
      const nearest = sql<{ id: number }>`
        SELECT id FROM bench_vectors ORDER BY VEC_DISTANCE_COSINE(v, ${vectorBytes(query)}) LIMIT ${sql.lit(limit)}`;
      reported = (await nearest.execute(db)).rows;
    });
    ratios.push(scanMs / indexMs);
    right += reported.filter(({ id }) => exact.some(({ row }) => row === id)).length;
  }
  const [lower, ratio, upper] = quartilesOf(ratios);
  return [
    { metric: 'scan / vector index of the engine', ratio, aim: null, quartiles: [lower, upper] },
    { metric: 'recall of the vector index', ratio: right / (questions * limit), aim: null },
    { metric: 'insert with vector index / without', ratio: insertMs / plainMs, aim: null },
  ];
}

async function fillIndexed(database: Database, matrix: Float32Array, dimensions: number) {
  await sql
    .raw(
      `CREATE TABLE bench_vectors (id INT PRIMARY KEY, v VECTOR(${dimensions}) NOT NULL,
        VECTOR INDEX (v) DISTANCE=cosine)`,
    )
    .execute(database.db);
  await fill(database, 'bench_vectors', matrix, dimensions);
}

async function fillPlain(database: Database, matrix: Float32Array, dimensions: number) {
  await sql`CREATE TABLE bench_bytes (id INT PRIMARY KEY, v BLOB NOT NULL)`.execute(database.db);
  await fill(database, 'bench_bytes', matrix, dimensions);
}

async function fill({ db }: Database, table: string, matrix: Float32Array, dimensions: number) {
  for (let id = 0; id * dimensions < matrix.length; id += 1) {
    const bytes = vectorBytes(matrix.subarray(id * dimensions, (id + 1) * dimensions));
    await sql`INSERT INTO ${sql.table(table)} VALUES (${id}, ${bytes})`.execute(db);
  }
}

/** Draws embeddings in clusters, as embeddings of real texts are. */
function clusteredEmbeddings(dimensions: number): () => Float32Array {
  const normal = () =>
    Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  const normals = (length: number) => Float32Array.from({ length }, normal);
  const directions = Array.from({ length: clusterDimensions }, () => normals(dimensions));
  const groups = Array.from({ length: 50 }, () => normals(clusterDimensions));
  return () => {
    const group = groups[Math.floor(Math.random() * groups.length)]!;
    const vector = normals(dimensions).map((number) => number / 2);
    for (const [n, direction] of directions.entries()) {
      const by = group[n]! + 0.7 * normal();
      for (let at = 0; at < dimensions; at += 1) vector[at] = vector[at]! + by * direction[at]!;
    }
    const length = Math.hypot(...vector);
    return vector.map((number) => number / length);
  };
}

async function wallMs(work: () => unknown): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
