/**
 * Verifies that another gateway continues the ingestion of a file when its gateway is stopped,
 * without marking it as failed.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../../../src/model/wire/ids.ts';
import { FileReadPool } from '../../../src/objects/ingestion/file-read-pool.ts';
import { Ingestion } from '../../../src/objects/ingestion/ingestion.ts';
import type { ModelCalls, ModelResponse } from '../../../src/objects/model-calls.ts';
import { DatabaseBlobs } from '../../../src/store/database-blobs.ts';
import * as files from '../../../src/store/objects/files.ts';
import * as storeFiles from '../../../src/store/objects/vector-store-files.ts';
import * as vectorStores from '../../../src/store/objects/vector-stores.ts';
import { StoredBlobs } from '../../../src/store/stored-blobs.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { eventually } from '../../support/server/eventually.ts';

const now = Date.UTC(2027, 0, 4);
const owner = { organisationId: newId(), workspaceId: '', apiKeyId: newId() };
const owned = {
  organisation_id: owner.organisationId,
  workspace_id: '',
  api_key_id: owner.apiKeyId,
};
const store: vectorStores.StoredVectorStore = {
  ...owned,
  id: 'vs_gw1',
  name: null,
  description: null,
  metadata: '{}',
  embedding_model: 'm',
  dimensions: null,
  contents: 0,
  status: 'active',
  expires_after_days: null,
  created_at: now,
  last_active_at: now,
  expires_at: null,
};
const place = { organisationId: owner.organisationId, vectorStoreId: store.id, id: 'file_gw1' };

let test: TestDatabase;
let blobs: StoredBlobs;

beforeAll(async () => {
  test = await createTestDatabase();
  const { database } = test;
  blobs = new StoredBlobs({
    database,
    now: () => now,
    writesTo: 'database',
    places: { database: new DatabaseBlobs(database) },
  });
  await vectorStores.insert(database.db, { ...store });
  const content = Buffer.from('Frogs are green.');
  const pieces = (async function* () {
    yield content;
  })();
  const at = { organisationId: owner.organisationId, id: place.id };
  const written = await blobs.write(at, pieces);
  await database.transaction(async (tx) => {
    await blobs.keep(tx, written);
    await files.insert(tx, {
      ...owned,
      id: place.id,
      name: 'a.txt',
      purpose: 'assistants',
      bytes: content.length,
      created_at: now,
      expires_at: null,
    });
    await storeFiles.put(tx, {
      organisation_id: owner.organisationId,
      vector_store_id: store.id,
      id: place.id,
      batch_id: null,
      status: 'in_progress',
      error_code: null,
      error_message: null,
      attributes: '{}',
      chunk_tokens: 800,
      overlap_tokens: 400,
      usage_bytes: 0,
      chunks: 0,
      lease: null,
      leased_until: 0,
      created_at: now,
    });
  });
});

afterAll(() => test[Symbol.asyncDispose]());

/** Starts a gateway whose model responds on demand. */
function gateway(): {
  models: ModelCalls;
  ingestion: Ingestion;
  calls: ((answer: ModelResponse) => void)[];
} & Disposable {
  const calls: ((answer: ModelResponse) => void)[] = [];
  const models: ModelCalls = {
    call: () => new Promise((resolve) => calls.push(resolve)),
  };
  const readings = new FileReadPool();
  const onFault = (error: unknown): never => {
    throw error;
  };
  const options = { database: test.database, blobs, now: () => now, readings, onFault };
  const ingestion = new Ingestion(options);
  return { models, ingestion, calls: calls, [Symbol.dispose]: () => readings[Symbol.dispose]() };
}

it('is resumed whatever its model responds', async () => {
  using stopped = gateway();
  stopped.ingestion.start(owner, store, stopped.models);
  await eventually(() => expect(stopped.calls).toHaveLength(1));
  const closing = stopped.ingestion.close();
  stopped.calls[0]!({ status: 499, body: null });
  await closing;
  const left = await storeFiles.find(test.database.db, place);
  expect(left).toMatchObject({ status: 'in_progress', leased_until: now, chunks: 0 });

  using other = gateway();
  other.ingestion.start(owner, store, other.models);
  await eventually(() => expect(other.calls).toHaveLength(1));
  other.calls[0]!({ status: 200, body: { data: [{ embedding: [1, 0] }] } });
  await eventually(async () => {
    const row = await storeFiles.find(test.database.db, place);
    expect(row).toMatchObject({ status: 'completed', chunks: 1 });
  });
  await other.ingestion.close();
});
