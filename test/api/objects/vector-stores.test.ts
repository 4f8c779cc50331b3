/**
 * Verifies that files and vector stores of the gateway work with an unmodified client, are private
 * to their owner, and survive a replica.
 */
import { createHash } from 'node:crypto';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { pageText, pdfOf } from '../../support/upstream/pdf.ts';
import { sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let openai: OpenAI;
let stranger: OpenAI;
/** Texts that were embedded. */
const embedded: string[] = [];

beforeAll(async () => {
  inference = await startInference();
  inference.upstream.script = (request, response) => {
    const { input } = JSON.parse(request.body.toString());
    embedded.push(...input);
    const data = input.map((text: string, index: number) => ({
      index,
      embedding: meaningOf(text),
    }));
    sendJson(response, { object: 'list', data, usage: { prompt_tokens: 3, total_tokens: 3 } });
  };
  openai = await client();
  const { body } = await inference.server.request('POST', '/v1/admin/workspaces', {
    body: { name: 'another' },
  });
  stranger = await client({ workspace_id: body.id });
});

afterAll(() => inference[Symbol.asyncDispose]());

async function client(more: object = {}): Promise<OpenAI> {
  const { key } = await inference.addKey(more);
  const config = { provider: 'mock-upstream', custom_host: inference.upstream.url };
  return new OpenAI({
    apiKey: key,
    maxRetries: 0,
    timeout: 600_000,
    baseURL: `${inference.server.inferenceUrl}/v1`,
    defaultHeaders: { 'x-gateway-config': JSON.stringify(config) },
  });
}

/** Returns vectors that are near to one another when texts share words. */
function meaningOf(text: string): number[] {
  const meaning = new Array<number>(64).fill(0);
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
    meaning[createHash('md5').update(word).digest()[0]! % 64]! += 1;
  }
  return meaning;
}

const upload = (name: string, content: string | Buffer, more: object = {}) =>
  toFile(Buffer.from(content), name).then((file) =>
    openai.files.create({ file, purpose: 'assistants', ...more }),
  );

const failure = (status: number, message = '') =>
  expect.objectContaining({ status, message: expect.stringContaining(message) });

describe('files', () => {
  it('creates, lists, reads and deletes files', async () => {
    const content = Buffer.alloc(2_500_000, 'abc\n');
    const file = await upload('notes.txt', content);
    expect(file).toMatchObject({ object: 'file', filename: 'notes.txt', bytes: content.length });
    expect(await openai.files.retrieve(file.id)).toEqual(file);
    const read = await openai.files.content(file.id);
    expect(Buffer.from(await read.arrayBuffer()).equals(content)).toBe(true);
    const second = await upload('second.txt', 'b', { purpose: 'user_data' });
    const page = await openai.files.list({ limit: 1 });
    expect([page.data[0]!.id, page.has_more]).toEqual([second.id, true]);
    const next = await page.getNextPage();
    expect(next.data.map(({ id }) => id)).toEqual([file.id]);
    expect((await openai.files.list({ purpose: 'user_data' })).data).toEqual([second]);
    expect((await openai.files.list({ order: 'asc' })).data).toEqual([file, second]);
    expect(await openai.files.delete(file.id)).toMatchObject({ id: file.id, deleted: true });
    await expect(openai.files.retrieve(file.id)).rejects.toEqual(failure(404));
    await openai.files.delete(second.id);
  });

  it('deletes expired files in the next run of the job', async () => {
    const { server } = inference;
    const file = await upload('a.txt', 'a', {
      expires_after: { anchor: 'created_at', seconds: 3_600 },
    });
    expect(file.expires_at).toBe(file.created_at + 3_600);
    server.clock.advance(3_600_000);
    await expect(openai.files.retrieve(file.id)).rejects.toEqual(failure(404));
    const run = await server.app.jobs.runNow('delete-expired-files');
    expect(run).toMatchObject({ state: 'done', counts: { deleted: 1 } });
  });

  it.each([
    ['an empty file', 'a.txt', '', {}, 'empty'],
    ['an unknown purpose', 'a.txt', 'a', { purpose: 'none' }, 'purpose'],
    [
      'a time that is too short',
      'a.txt',
      'a',
      { expires_after: { anchor: 'created_at', seconds: 5 } },
      'expires_after',
    ],
  ])('returns 400 for %s', async (_, name, content, more, message) => {
    await expect(upload(name, content, more)).rejects.toEqual(failure(400, message));
  });
});

describe('a vector store', () => {
  it('indexes text, Markdown, HTML, JSON and PDF, and finds the chunks nearest to a query', async () => {
    const store = await openai.vectorStores.create({ name: 'animals', metadata: { a: 'b' } });
    expect(store).toMatchObject({ object: 'vector_store', status: 'completed', name: 'animals' });
    const texts: Record<string, string | Buffer> = {
      'cats.txt': 'The cat sleeps on the sofa',
      'dogs.md': '# Dogs\n\nThe dog barks at night',
      'birds.html': '<p>Birds <b>sing</b> in spring</p>',
      'fish.json': '{"fish": "swim in water"}',
      'bees.pdf': pdfOf([pageText('Bees make honey')]),
    };
    for (const [name, text] of Object.entries(texts)) {
      const file = await openai.vectorStores.files.uploadAndPoll(
        store.id,
        await toFile(Buffer.from(text), name),
        { pollIntervalMs: 5 },
      );
      expect(file).toMatchObject({
        status: 'completed',
        last_error: null,
        vector_store_id: store.id,
      });
    }
    const found = async (query: string) => {
      const { data } = await openai.vectorStores.search(store.id, { query, max_num_results: 1 });
      return [data[0]!.filename, data[0]!.content[0]!.text];
    };
    expect(await found('a cat on a sofa')).toEqual(['cats.txt', 'The cat sleeps on the sofa']);
    expect(await found('which dog barks')).toEqual(['dogs.md', '# Dogs\n\nThe dog barks at night']);
    expect(await found('birds sing')).toEqual(['birds.html', 'Birds sing in spring']);
    expect(await found('fish swim')).toEqual(['fish.json', '{"fish": "swim in water"}']);
    expect(await found('bees make honey')).toEqual(['bees.pdf', 'Bees make honey']);
    const reported = await openai.vectorStores.retrieve(store.id);
    expect(reported.file_counts).toEqual({
      in_progress: 0,
      completed: 5,
      failed: 0,
      cancelled: 0,
      total: 5,
    });
    expect(reported.usage_bytes).toBeGreaterThan(5 * 64 * 4);
  });

  it('searches only files whose attributes match the filters, and returns nothing below the threshold', async () => {
    const files = [await upload('one.txt', 'apples and pears'), await upload('two.txt', 'apples')];
    const store = await openai.vectorStores.create({});
    const batch = await openai.vectorStores.fileBatches.createAndPoll(
      store.id,
      {
        files: [
          { file_id: files[0]!.id, attributes: { year: 2024, kind: 'report' } },
          { file_id: files[1]!.id, attributes: { year: 2026, kind: 'note' } },
        ],
      },
      { pollIntervalMs: 5 },
    );
    expect(batch).toMatchObject({ status: 'completed', file_counts: { completed: 2, total: 2 } });
    const names = async (more: object) => {
      const body = { query: 'apples', ...more } as OpenAI.VectorStoreSearchParams;
      const { data } = await openai.vectorStores.search(store.id, body);
      return data.map(({ filename }) => filename);
    };
    expect(await names({})).toEqual(['two.txt', 'one.txt']);
    expect(await names({ filters: { type: 'lt', key: 'year', value: 2026 } })).toEqual(['one.txt']);
    const both = [
      { type: 'eq', key: 'kind', value: 'note' },
      { type: 'gte', key: 'year', value: 2025 },
    ];
    expect(await names({ filters: { type: 'and', filters: both } })).toEqual(['two.txt']);
    expect(await names({ filters: { type: 'nin', key: 'kind', value: ['note'] } })).toEqual([
      'one.txt',
    ]);
    expect(await names({ ranking_options: { score_threshold: 0.99 } })).toEqual(['two.txt']);
    await openai.vectorStores.files.update(files[0]!.id, {
      vector_store_id: store.id,
      attributes: { year: 2030 },
    });
    expect(await names({ filters: { type: 'gt', key: 'year', value: 2026 } })).toEqual(['one.txt']);
    await openai.files.delete(files[1]!.id);
    expect(await names({})).toEqual(['one.txt']);
  });

  it('ranks by words beside meaning with the requested weights', async () => {
    const store = await openai.vectorStores.create({});
    const texts = {
      'long.txt': `Apples ${'and pears and plums '.repeat(40)}`,
      'code.txt': 'Fault XQ-17!',
      'near.txt': 'apples apples',
      'word.txt': 'pineapples',
      'ja.txt': 'weather 東京都の天気',
    };
    for (const [name, text] of Object.entries(texts)) {
      const file = await toFile(Buffer.from(text), name);
      await openai.vectorStores.files.uploadAndPoll(store.id, file, { pollIntervalMs: 5 });
    }
    const search = async (query: string | string[], embedding_weight = 0, more: object = {}) => {
      const hybrid_search = { embedding_weight, text_weight: 1 };
      const ranking_options = { hybrid_search, ...more };
      const body = { query, rewrite_query: true, ranking_options };
      const found = await openai.post<{
        search_query: string[];
        data: OpenAI.VectorStoreSearchResponse[];
      }>(`/vector_stores/${store.id}/search`, { body });
      expect(found.search_query).toEqual([query].flat());
      return found.data.map(({ filename, score }) => [filename, score] as const);
    };
    const names = async (...parameters: Parameters<typeof search>) =>
      (await search(...parameters)).map(([name]) => name);
    expect(await search('xq')).toEqual([['code.txt', 1]]);
    expect(await names('APPLES')).toEqual(['near.txt', 'word.txt', 'long.txt']);
    expect(await names('kyoto 京都')).toEqual(['ja.txt']);
    expect(await names(['xq', 'kyoto 天気'])).toEqual(
      expect.arrayContaining(['code.txt', 'ja.txt']),
    );
    expect(await names('kyoto % _')).toEqual([]);
    const [first, ...rest] = await search('apples', 1);
    expect(first).toEqual(['near.txt', 1]);
    expect(rest).toHaveLength(4);
    for (const [, score] of rest) expect(score).toBeLessThan(1);
    expect(await names('apples', 1, { score_threshold: 1 })).toEqual(['near.txt']);
    const refused = search('apples', 0, { hybrid_search: { embedding_weight: 0, text_weight: 0 } });
    await expect(refused).rejects.toEqual(failure(400, 'text_weight'));
    expect(await names("'; DROP TABLE --")).toEqual([]);
  });

  it('gives the reason when a file cannot be indexed', async () => {
    const store = await openai.vectorStores.create({});
    const put = async (name: string, content: string | Buffer) =>
      openai.vectorStores.files.uploadAndPoll(store.id, await toFile(Buffer.from(content), name), {
        pollIntervalMs: 5,
      });
    expect(await put('a.bin', Buffer.from([0, 255, 1]))).toMatchObject({
      status: 'failed',
      last_error: { code: 'unsupported_file' },
    });
    expect(await put('a.pdf', '%PDF-1.4')).toMatchObject({
      status: 'failed',
      last_error: { code: 'invalid_file' },
    });
    const { file_counts: counts } = await openai.vectorStores.retrieve(store.id);
    expect(counts).toMatchObject({ failed: 2, total: 2 });
  });

  it('chunks by the requested sizes, and returns the text of a file', async () => {
    const words = Array.from({ length: 300 }, (_, n) => `word${n}`).join(' ');
    const file = await upload('words.txt', words);
    const store = await openai.vectorStores.create({});
    const put = await openai.vectorStores.files.createAndPoll(
      store.id,
      {
        file_id: file.id,
        chunking_strategy: {
          type: 'static',
          static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 },
        },
      },
      { pollIntervalMs: 5 },
    );
    expect(put.status).toBe('completed');
    const { data } = await openai.vectorStores.files.content(file.id, {
      vector_store_id: store.id,
    });
    expect(data.length).toBeGreaterThan(3);
    expect(data.map(({ text }) => text).join(' ')).toBe(words);
  });

  it('expires after its last use, and the job deletes its contents', async () => {
    const { server } = inference;
    const file = await upload('a.txt', 'kept for a day');
    const store = await openai.vectorStores.create({
      file_ids: [file.id],
      expires_after: { anchor: 'last_active_at', days: 1 },
    });
    await openai.vectorStores.files.poll(store.id, file.id, { pollIntervalMs: 5 });
    server.clock.advance(20 * 3_600_000);
    expect((await openai.vectorStores.search(store.id, { query: 'day' })).data).toHaveLength(1);
    server.clock.advance(20 * 3_600_000);
    expect(await openai.vectorStores.retrieve(store.id)).not.toMatchObject({ status: 'expired' });
    server.clock.advance(20 * 3_600_000);
    expect(await openai.vectorStores.retrieve(store.id)).toMatchObject({ status: 'expired' });
    await expect(openai.vectorStores.search(store.id, { query: 'day' })).rejects.toEqual(
      failure(400, 'expired'),
    );
    const run = await server.app.jobs.runNow('empty-vector-stores');
    expect(run).toMatchObject({ state: 'done', counts: { expired: 1, emptied: 1 } });
    expect(await openai.vectorStores.retrieve(store.id)).toMatchObject({
      status: 'expired',
      usage_bytes: 0,
      file_counts: { total: 0 },
    });
    expect(await openai.files.retrieve(file.id)).toMatchObject({ id: file.id });
  });

  it('resumes a file behind its committed chunks when the process was killed', async () => {
    const { server } = inference;
    const words = Array.from({ length: 4_000 }, (_, n) => `item${n}`).join(' ');
    const file = await upload('words.txt', words);
    const store = await openai.vectorStores.create({});
    const sizes = { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 };
    const strategy = { type: 'static' as const, static: sizes };
    await openai.vectorStores.files.createAndPoll(
      store.id,
      { file_id: file.id, chunking_strategy: strategy },
      { pollIntervalMs: 5 },
    );
    const before = await openai.vectorStores.files.content(file.id, { vector_store_id: store.id });
    // The state that a replica leaves when it is killed while it embeds the second batch.
    const { db } = server.database;
    await db
      .deleteFrom('vector_chunks')
      .where('file_id', '=', file.id)
      .where('number', '>=', 32)
      .execute();
    await db
      .updateTable('vector_store_files')
      .where('id', '=', file.id)
      .set({ status: 'in_progress', chunks: 32, leased_until: server.clock.now() + 60_000 })
      .execute();
    embedded.length = 0;
    const at = { vector_store_id: store.id };
    const requested = await openai.vectorStores.files.retrieve(file.id, at).withResponse();
    expect(requested.data.status).toBe('in_progress');
    expect(requested.response.headers.get('openai-poll-after-ms')).toBe('1000');
    expect(embedded).toEqual([]);
    server.clock.advance(60_000);
    const polled = await openai.vectorStores.files.poll(store.id, file.id, { pollIntervalMs: 5 });
    expect(polled.status).toBe('completed');
    const over = await openai.vectorStores.files.retrieve(file.id, at).asResponse();
    expect(over.headers.get('openai-poll-after-ms')).toBeNull();
    const after = await openai.vectorStores.files.content(file.id, at);
    expect(after.data).toEqual(before.data);
    expect(embedded).toEqual(before.data.slice(32).map(({ text }) => text));
  });

  it('drops a file that is removed during its ingestion', async () => {
    const file = await upload('words.txt', 'one two three');
    const store = await openai.vectorStores.create({ file_ids: [file.id] });
    await openai.vectorStores.files.delete(file.id, { vector_store_id: store.id });
    await eventually(async () => {
      const left = await inference.server.database.db
        .selectFrom('vector_chunks')
        .select('number')
        .where('vector_store_id', '=', store.id)
        .execute();
      expect(left).toEqual([]);
    });
    const reported = await openai.vectorStores.retrieve(store.id);
    expect(reported.file_counts.total).toBe(0);
    expect(await openai.vectorStores.delete(store.id)).toMatchObject({ deleted: true });
    await expect(openai.vectorStores.retrieve(store.id)).rejects.toEqual(failure(404));
  });
});

describe('another workspace', () => {
  it('cannot access any of it on any route, and does not see it in lists', async () => {
    const file = await upload('secret.txt', 'secret');
    const store = await openai.vectorStores.create({ file_ids: [file.id] });
    const at = { vector_store_id: store.id };
    const own = await stranger.vectorStores.create({});
    const attempts = [
      () => stranger.files.retrieve(file.id),
      () => stranger.files.content(file.id),
      () => stranger.files.delete(file.id),
      () => stranger.vectorStores.retrieve(store.id),
      () => stranger.vectorStores.update(store.id, { name: 'mine' }),
      () => stranger.vectorStores.delete(store.id),
      () => stranger.vectorStores.search(store.id, { query: 'secret' }),
      () => stranger.vectorStores.files.list(store.id),
      () => stranger.vectorStores.files.retrieve(file.id, at),
      () => stranger.vectorStores.files.content(file.id, at),
      () => stranger.vectorStores.files.delete(file.id, at),
      () => stranger.vectorStores.files.create(own.id, { file_id: file.id }),
      () => stranger.vectorStores.fileBatches.create(own.id, { file_ids: [file.id] }),
      () => stranger.vectorStores.create({ file_ids: [file.id] }),
    ];
    for (const attempt of attempts) await expect(attempt()).rejects.toEqual(failure(404));
    expect((await stranger.files.list()).data).toEqual([]);
    expect((await stranger.vectorStores.list()).data.map(({ id }) => id)).toEqual([own.id]);
    expect(await openai.vectorStores.files.poll(store.id, file.id)).toMatchObject({
      status: 'completed',
    });
  });

  it('gets the same response for existing and unknown objects on every route, and changes nothing', async () => {
    const file = await upload('secret.txt', 'secret');
    const store = await openai.vectorStores.create({ name: 'secret' });
    const at = { vector_store_id: store.id };
    const batch = await openai.vectorStores.fileBatches.createAndPoll(
      store.id,
      { file_ids: [file.id] },
      { pollIntervalMs: 5 },
    );
    const listAll = async () => [
      await openai.files.retrieve(file.id),
      await openai.vectorStores.retrieve(store.id),
      await openai.vectorStores.files.retrieve(file.id, at),
      (await openai.vectorStores.files.content(file.id, at)).data,
      await openai.vectorStores.fileBatches.retrieve(batch.id, at),
    ];
    const own = await stranger.vectorStores.create({});
    const ownFile = await stranger.files.create({
      file: await toFile(Buffer.from('mine'), 'mine.txt'),
      purpose: 'assistants' as const,
    });
    const theirs = { store: store.id, file: file.id, batch: batch.id };
    const nobodys = {
      store: `vs_gw${'0'.repeat(32)}`,
      file: `file_gw${'0'.repeat(32)}`,
      batch: `vsfb_gw${'0'.repeat(32)}`,
    };
    const before = await listAll();
    const placesIn = ({ store, file, batch }: typeof theirs): string[] => [
      `/files/${file}`,
      `/files/${file}/content`,
      `/files?after=${file}`,
      `/files?before=${file}`,
      `/vector_stores/${store}`,
      `/vector_stores/${store}/search`,
      `/vector_stores?after=${store}`,
      `/vector_stores?before=${store}`,
      ...[own.id, store].flatMap((one) =>
        [
          `files`,
          `files/${file}`,
          `files/${file}/content`,
          `files?after=${file}`,
          `files/${ownFile.id}`,
          `file_batches`,
          `file_batches/${batch}`,
          `file_batches/${batch}/cancel`,
          `file_batches/${batch}/files`,
        ].map((rest) => `/vector_stores/${one}/${rest}`),
      ),
    ];
    const bodiesWith = (ids: typeof theirs): object[] => [
      {},
      { query: 'secret' },
      { attributes: { a: 1 } },
      { name: 'mine' },
      { file_id: ids.file },
      { file_ids: [ownFile.id, ids.file] },
      { files: [{ file_id: ids.file, attributes: { a: 1 } }] },
    ];
    const config = { provider: 'mock-upstream', custom_host: inference.upstream.url };
    const headers = {
      authorization: `Bearer ${stranger.apiKey}`,
      'x-gateway-config': JSON.stringify(config),
    };
    const answered = async (ids: typeof theirs, method: string, path: string, body?: object) => {
      const url = `${inference.server.inferenceUrl}/v1${path}`;
      const answer = await exchange(method, url, body, headers);
      const text = JSON.stringify(answer.body) ?? '';
      const blank = Object.values(ids).reduce(
        (reported, id) => reported.replaceAll(id, 'ID'),
        text,
      );
      return [method, answer.status, blank.replaceAll(/vs(?:fb)?_gw\w{32}/g, 'NEW')];
    };
    const allAnswered = async (ids: typeof theirs) => {
      const reported: unknown[] = [];
      for (const path of placesIn(ids)) {
        for (const method of ['GET', 'DELETE', 'PUT', 'PATCH']) {
          reported.push(await answered(ids, method, path));
        }
        for (const body of bodiesWith(ids)) reported.push(await answered(ids, 'POST', path, body));
      }
      return reported;
    };
    const foreign = await allAnswered(theirs);
    expect(foreign).toEqual(await allAnswered(nobodys));
    expect(JSON.stringify(foreign)).not.toContain('secret.txt');
    expect(await listAll()).toEqual(before);
  });
});
