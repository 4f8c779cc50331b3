/**
 * Verifies the search of a vector store that does not fit in memory: by the engine when it compares
 * vectors, else by scanning.
 */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../../../src/model/wire/ids.ts';
import { vectorBytes } from '../../../src/objects/ingestion/embeddings.ts';
import { EngineRanking } from '../../../src/objects/search/engine-ranking.ts';
import { Scans } from '../../../src/objects/search/scans.ts';
import { StoreContents } from '../../../src/objects/search/store-contents.ts';
import { VectorSearch } from '../../../src/objects/search/vector-search.ts';
import type { TextQuery } from '../../../src/objects/store-search.ts';
import * as vectorChunks from '../../../src/store/objects/vector-chunks.ts';
import * as storeFiles from '../../../src/store/objects/vector-store-files.ts';
import * as vectorStores from '../../../src/store/objects/vector-stores.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

const now = Date.UTC(2027, 0, 4);
const owner = { organisationId: newId(), workspaceId: '', apiKeyId: newId() };
const at = { organisation_id: owner.organisationId, vector_store_id: 'vs_gw1' };
const place = { organisationId: owner.organisationId, vectorStoreId: 'vs_gw1' };
const lease = Buffer.alloc(16);
/** More chunks than one statement reads, in one file and in many. */
const chunksOfFiles = [1_200, ...new Array<number>(300).fill(2), 40];
const dimensions = 8;

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
  await vectorStores.insert(test.database.db, {
    organisation_id: owner.organisationId,
    id: 'vs_gw1',
    workspace_id: '',
    api_key_id: owner.apiKeyId,
    name: null,
    description: null,
    metadata: '{}',
    embedding_model: 'm',
    dimensions,
    contents: 0,
    status: 'active',
    expires_after_days: null,
    created_at: now,
    last_active_at: now,
    expires_at: null,
  });
  for (const [file, chunks] of chunksOfFiles.entries()) await addFile(`file_${file}`, chunks);
});

afterAll(() => test[Symbol.asyncDispose]());

async function addFile(id: string, chunks: number): Promise<void> {
  const { db, transaction } = test.database;
  await storeFiles.put(db, {
    organisation_id: owner.organisationId,
    vector_store_id: 'vs_gw1',
    id,
    batch_id: null,
    status: 'in_progress',
    error_code: null,
    error_message: null,
    attributes: JSON.stringify({ few: chunks < 100 }),
    chunk_tokens: 800,
    overlap_tokens: 400,
    usage_bytes: 0,
    chunks,
    lease,
    leased_until: 0,
    created_at: now,
  });
  const rows = Array.from({ length: chunks }, (_, number) => {
    const vector = meaningOf(`${id}/${number}`);
    return {
      ...at,
      file_id: id,
      number,
      content: `${id}/${number}`,
      embedding: vectorBytes(vector),
    };
  });
  await vectorChunks.insert(db, rows);
  await transaction((tx) => storeFiles.complete(tx, { ...place, id }, lease));
}

/** A vector of length 1, the same for the same text. */
function meaningOf(text: string): Float32Array {
  let state = 7;
  for (const letter of text) state = (Math.imul(state, 31) + letter.codePointAt(0)!) >>> 0;
  const numbers = Float32Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
  return numbers.map((number) => number / Math.hypot(...numbers));
}

/** A process whose cache has this many bytes. */
function searching(heldBytesMax: number): VectorSearch & Disposable {
  const { database } = test;
  const scans = new Scans(heldBytesMax);
  const ranking = new EngineRanking(database.db);
  const search = new VectorSearch({ database, contents: new StoreContents(), scans, ranking });
  return Object.assign(search, { [Symbol.dispose]: () => scans[Symbol.dispose]() });
}

async function found(search: VectorSearch, more: Partial<TextQuery> = {}) {
  const store = await vectorStores.find(test.database.db, owner, 'vs_gw1');
  const models: TextQuery['models'] = {
    call: async (_, { input }) => {
      const data = (input as string[]).map((text) => ({ embedding: [...meaningOf(text)] }));
      return { status: 200, body: { data } };
    },
  };
  const query = { queries: ['file_9/1'], filters: null, limit: 20, scoreMin: 0, models, now };
  const texts = await search.search(store!, owner, { ...query, ...more });
  return texts.map(({ text, score }) => ({ text, score: Math.round(score * 1e4) / 1e4 }));
}

it('returns the same results with and without the cache', async () => {
  using roomy = searching(2 ** 30);
  using narrow = searching(1);
  const requested: Partial<TextQuery>[] = [
    {},
    { queries: ['file_9/1', 'file_0/1100', 'nothing of the kind'], limit: 50 },
    { scoreMin: 0.9 },
    { filters: { type: 'eq', key: 'few', value: false }, queries: ['file_9/1', 'file_0/7'] },
  ];
  for (const more of requested) expect(await found(narrow, more)).toEqual(await found(roomy, more));
  const [best] = await found(narrow);
  expect(best).toEqual({ text: 'file_9/1', score: 1 });
});

it('detects vector functions: MariaDB from 11.7, the vector type of MySQL from 9', async () => {
  const { db } = test.database;
  const { rows } = await sql<{ version: string }>`SELECT VERSION() AS version`.execute(db);
  const { version } = rows[0]!;
  const [major, minor] = version.split('.').map(Number) as [number, number];
  const isMariadb = version.includes('MariaDB');
  expect(await vectorChunks.canRank(db)).toBe(isMariadb && major * 100 + minor >= 1107);
  const column = sql<{ Type: string }>`SHOW COLUMNS FROM vector_chunks LIKE 'embedding'`;
  const [{ Type: type }] = (await column.execute(db)).rows as [{ Type: string }];
  expect(type).toBe(!isMariadb && major >= 9 ? 'vector(16383)' : 'mediumblob');
});

it('finds added chunks and no deleted ones', async () => {
  using search = searching(2 ** 30);
  const texts = async () => (await found(search, { queries: ['new/0'] })).map(({ text }) => text);
  expect(await texts()).not.toContain('new/0');
  await addFile('new', 1);
  expect((await texts())[0]).toBe('new/0');
  const { transaction } = test.database;
  const file = { ...place, id: 'new' };
  await transaction((tx) => storeFiles.setAttributes(tx, file, JSON.stringify({ few: false })));
  const filters = { type: 'eq', key: 'few', value: false } as const;
  expect((await found(search, { filters, queries: ['new/0'] }))[0]!.text).toBe('new/0');
  await transaction((tx) => storeFiles.deleteById(tx, file));
  expect(await texts()).not.toContain('new/0');
});
