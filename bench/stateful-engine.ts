/** Knows what a search costs that has no room in memory, and how the vector index of an engine compares, where it has one. */
import { sql } from 'kysely';
import type { Owner } from '../src/objects/owner.ts';
import type { TextsAsked } from '../src/objects/store-search.ts';
import { bytesOf } from '../src/objects/ingestion/embeddings.ts';
import { best, type Nearest, NearestRows } from '../src/objects/search/nearest.ts';
import type { VectorSearch } from '../src/objects/search/vector-search.ts';
import type { Database } from '../src/store/connection/db.ts';
import { canRank } from '../src/store/objects/vector-chunks.ts';
import type { StoredVectorStore } from '../src/store/objects/vector-stores.ts';
import { quartilesOf, type Row } from './harness.ts';

const rounds = 11;
const questions = 41;
/** Which numbers of meanings there are, of which embeddings are made: those of texts vary in few directions. */
const meanings = 24;
const limit = 10;

/** Such a search beside one of the same store in memory. */
export async function withoutRoom(
  label: string,
  search: {
    readonly searching: VectorSearch;
    readonly store: StoredVectorStore;
    readonly owner: Owner;
    readonly asked: TextsAsked;
    readonly inMemory: readonly number[];
  },
): Promise<Row[]> {
  const { searching, store, owner, asked, inMemory } = search;
  const ratios: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const ms = await wallMs(() => searching.search(store, owner, asked));
    if (round >= 0) ratios.push(ms / inMemory[round % inMemory.length]!);
  }
  const [lower, ratio, upper] = quartilesOf(ratios);
  const metric = `${label}, without room / in memory, wall clock`;
  return [{ metric, ratio, aim: null, quartiles: [lower, upper] }];
}

/** What the index finds, how fast, and how much of it is right; nothing where there is none. */
export async function engineIndex(
  database: Database,
  { length }: Float32Array,
  dimensions: number,
): Promise<Row[]> {
  const { db } = database;
  if (!(await canRank(db))) {
    process.stdout.write('  this engine has no vector index to be compared with\n');
    return [];
  }
  const draw = meaningful(dimensions);
  const matrix = new Float32Array(length);
  for (let at = 0; at < length; at += dimensions) matrix.set(draw(), at);
  const insertMs = await wallMs(() => fillIndexed(database, matrix, dimensions));
  const plainMs = await wallMs(() => fillPlain(database, matrix, dimensions));
  const ratios: number[] = [];
  let right = 0;
  for (let n = 0; n < questions; n += 1) {
    const query = draw();
    let exact: readonly Nearest[] = [];
    const scanMs = await wallMs(() => {
      const rows = new NearestRows(limit, -1);
      rows.look(0, matrix, query);
      exact = best(rows.found, limit);
    });
    let told: readonly { readonly id: number }[] = [];
    const indexMs = await wallMs(async () => {
      const nearest = sql<{ id: number }>`
        SELECT id FROM bench_vectors ORDER BY VEC_DISTANCE_COSINE(v, ${bytesOf(query)}) LIMIT ${sql.lit(limit)}`;
      told = (await nearest.execute(db)).rows;
    });
    ratios.push(scanMs / indexMs);
    right += told.filter(({ id }) => exact.some(({ row }) => row === id)).length;
  }
  const [lower, ratio, upper] = quartilesOf(ratios);
  return [
    { metric: 'scan / index of the engine', ratio, aim: null, quartiles: [lower, upper] },
    { metric: 'of the nearest, found by it', ratio: right / (questions * limit), aim: null },
    { metric: 'insert with it / without', ratio: insertMs / plainMs, aim: null },
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
    const bytes = bytesOf(matrix.subarray(id * dimensions, (id + 1) * dimensions));
    await sql`INSERT INTO ${sql.table(table)} VALUES (${id}, ${bytes})`.execute(db);
  }
}

/** Draws embeddings as those of texts are: near to one another in groups. */
function meaningful(dimensions: number): () => Float32Array {
  const normal = () =>
    Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  const normals = (length: number) => Float32Array.from({ length }, normal);
  const directions = Array.from({ length: meanings }, () => normals(dimensions));
  const groups = Array.from({ length: 50 }, () => normals(meanings));
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
