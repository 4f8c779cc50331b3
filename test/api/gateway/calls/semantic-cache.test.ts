/** Verifies the semantic cache: which questions share an answer, who shares it, what it costs, and what is never stored. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RequestLogRecord } from '../../../../src/model/logs/request-log.ts';
import { eventually } from '../../../support/server/eventually.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { logIsWritten } from '../../../support/server/request-log.ts';
import { chatAnswer, sendJson } from '../../../support/upstream/upstream.ts';

let inference: Inference;
/** Texts that were embedded, and questions that a model answered. */
let embedded: string[];
let answered: string[];
let embed: (text: string, response: ServerResponse) => void;
let answer: (text: string, response: ServerResponse) => void;

/** The meaning of a text is the angle at its end: `what is it? 10`. */
function vectorOf(text: string): number[] {
  const angle = (Number(/\d+$/.exec(text)?.[0] ?? 0) * Math.PI) / 180;
  return [3 * Math.cos(angle), 3 * Math.sin(angle)];
}

beforeAll(async () => {
  inference = await startInference();
  inference.upstream.script = ({ url, body }, response) => {
    const params = JSON.parse(body.toString('utf8'));
    if (url.endsWith('/embeddings')) {
      embedded.push(params.input);
      return embed(params.input, response);
    }
    const text = JSON.stringify(params.messages?.at(-1)?.content ?? params.prompt);
    answered.push(text);
    answer(text, response);
  };
});

beforeEach(() => {
  [embedded, answered] = [[], []];
  embed = (text, response) => {
    const data = [{ index: 0, embedding: vectorOf(text) }];
    sendJson(response, { object: 'list', data, usage: { prompt_tokens: 3, total_tokens: 3 } });
  };
  answer = (text, response) => {
    const message = { role: 'assistant', content: `answer to ${text}` };
    sendJson(response, { ...chatAnswer, choices: [{ ...chatAnswer.choices[0], message }] });
  };
});

afterAll(() => inference[Symbol.asyncDispose]());

const cache = {
  mode: 'semantic',
  max_age: 600,
  embedding: { model: 'embedder', request_timeout: 10_000 },
};

interface Question {
  readonly cache?: object;
  readonly config?: object;
  readonly params?: object;
  readonly headers?: Record<string, string>;
  readonly path?: string;
}

async function ask(key: string, content: string, question: Question = {}) {
  const { params, headers = {}, config = {}, path = '/v1/chat/completions' } = question;
  const response = await inference.chat(key, {
    config: { cache: { ...cache, ...question.cache }, ...config },
    params: { messages: [{ role: 'user', content }], ...params },
    headers,
    path,
  });
  return { ...response, cache: response.headers['x-gateway-cache-status'] };
}

/** Asks a question and waits until its answer is stored, which happens after it is sent. */
async function store(key: string, content: string, question: Question = {}) {
  const first = await ask(key, content, question);
  expect(first.cache).toBe('SEMANTIC MISS');
  await eventually(async () => expect(await countStored(content)).toBe(1));
  return first;
}

/** Asks a question whose answer is in the cache. */
async function expectHit(key: string, content: string, question: Question = {}) {
  const hit = await ask(key, content, question);
  expect(hit.cache).toBe('SEMANTIC HIT');
  return hit;
}

/** Number of stored answers that repeat the text of a question. */
async function countStored(text: string): Promise<number> {
  const { db } = inference.server.database;
  const rows = await db.selectFrom('semantic_answers').select('body').execute();
  return rows.filter(({ body }) => body.includes(text)).length;
}

async function newKey(more: object = {}): Promise<string> {
  return (await inference.addKey(more)).key;
}

async function newWorkspace(name: string): Promise<string> {
  const made = await inference.server.request('POST', '/v1/admin/workspaces', { body: { name } });
  return made.body.id;
}

describe('a question', () => {
  it('is answered from the cache when an earlier one is similar enough, at no cost of the model', async () => {
    const key = await newKey();
    const first = await store(key, 'what is it? 10');
    expect(first).toMatchObject({ status: 200, cache: 'SEMANTIC MISS' });
    const hit = await expectHit(key, 'tell me what it is 12');
    expect(hit).toMatchObject({ status: 200, body: first.body });
    expect(hit.headers).toMatchObject({
      'x-gateway-cost': '0',
      'content-type': 'application/json',
    });
    const earlier = answered.length;
    expect((await ask(key, 'something else 40')).cache).toBe('SEMANTIC MISS');
    expect(answered).toHaveLength(earlier + 1);
  });

  it('is answered without an embedding when the request is identical to a cached one', async () => {
    const key = await newKey();
    await ask(key, 'the same 10');
    const before = embedded.length;
    expect((await ask(key, 'the same 10')).cache).toBe('HIT');
    expect(embedded).toHaveLength(before);
  });

  it('needs the similarity that the config sets', async () => {
    const key = await newKey();
    await store(key, 'strict 10');
    await expectHit(key, 'strictly 11');
    const strict = { threshold: 1 };
    expect((await ask(key, 'strict, too 12', { cache: strict })).cache).toBe('SEMANTIC MISS');
    expect((await ask(key, 'loose 50', { cache: { threshold: 0.7 } })).cache).toBe('SEMANTIC HIT');
  });

  it.each<[string, object]>([
    [
      'a system prompt',
      {
        messages: [
          { role: 'system', content: 'x' },
          { role: 'user', content: 'parts 11' },
        ],
      },
    ],
    [
      'earlier turns',
      {
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: 'b' },
          { role: 'user', content: 'parts 11' },
        ],
      },
    ],
    ['a model', { model: 'other' }],
    ['a parameter', { temperature: 0.5 }],
    ['tools', { tools: [{ type: 'function', function: { name: 'f' } }] }],
    ['a user', { user: 'somebody' }],
    [
      'a picture',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'parts 11' },
              { type: 'image_url', image_url: { url: 'data:,' } },
            ],
          },
        ],
      },
    ],
  ])('is not answered by one that differs in %s', async (difference, params) => {
    const key = await newKey();
    await store(key, `${difference} 10`);
    await expectHit(key, `${difference} 12`);
    expect((await ask(key, 'parts 11', { params })).cache).toBe('SEMANTIC MISS');
  });

  it('is answered anew on demand, after max_age, and in another namespace', async () => {
    const key = await newKey();
    await store(key, 'aged 10');
    await expectHit(key, 'aged, too 11');
    const forced = { headers: { 'x-gateway-cache-force-refresh': 'true' } };
    expect((await ask(key, 'aged again 12', forced)).cache).toBe('REFRESH');
    const elsewhere = { headers: { 'x-gateway-cache-namespace': 'mine' } };
    expect((await ask(key, 'aged here 12', elsewhere)).cache).toBe('SEMANTIC MISS');
    inference.server.clock.advance(600_000);
    expect((await ask(key, 'aged now 12')).cache).toBe('SEMANTIC MISS');
  });

  it('replays a stream as the events that the first caller received', async () => {
    const eventsOf = (text: string) =>
      `data: {"choices":[{"index":0,"delta":{"content":${text}}}]}\n\ndata: [DONE]\n\n`;
    answer = (text, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(eventsOf(text));
    };
    const key = await newKey();
    const params = { stream: true };
    await store(key, 'stream 10', { params });
    const hit = await expectHit(key, 'streamed 11', { params });
    expect(hit.headers['content-type']).toBe('text/event-stream');
    expect(hit.body).toBe(eventsOf('"stream 10"'));
    expect((await ask(key, 'whole 11')).cache).toBe('SEMANTIC MISS');
  });

  it('is shared by callers of the messages format, whose answers are translated', async () => {
    const key = await newKey();
    const question = { path: '/v1/messages', params: { max_tokens: 50 } };
    const first = await store(key, 'message 10', question);
    expect(first.body).toMatchObject({ type: 'message' });
    expect((await expectHit(key, 'messages 11', question)).body).toEqual(first.body);
  });
});

describe('an answer', () => {
  it('is shared with no other key, and with no other user of the key, unless the config says so', async () => {
    const [one, other] = [await newKey(), await newKey()];
    const user = { 'x-gateway-metadata': '{"_user":"ann"}' };
    await store(one, 'ours 10');
    await expectHit(one, 'ours, too 11');
    expect((await ask(other, 'ours 12')).cache).toBe('SEMANTIC MISS');
    expect((await ask(one, 'ours 13', { headers: user })).cache).toBe('SEMANTIC MISS');
    const shared = { cache: { scope: 'workspace' } };
    await store(one, 'of all 10', shared);
    await expectHit(other, 'of all 11', shared);
  });

  it.each(['key', 'config', 'workspace'])(
    'never reaches another workspace with the scope %s',
    async (scope) => {
      const canary = `canary ${scope}`;
      const keys: string[] = [];
      for (const name of [`${scope} one`, `${scope} two`]) {
        keys.push(await newKey({ workspace_id: await newWorkspace(name) }));
      }
      await store(keys[0]!, `${canary} 10`, { cache: { scope } });
      await expectHit(keys[0]!, `${canary} 11`, { cache: { scope } });
      const foreign = await ask(keys[1]!, 'a question of others 12', { cache: { scope } });
      expect(foreign.cache).toBe('SEMANTIC MISS');
      expect(JSON.stringify(foreign.body)).not.toContain(canary);
    },
  );

  it('is stored once when a hundred callers ask at the same time', async () => {
    const key = await newKey();
    const all = await Promise.all(Array.from({ length: 100 }, () => ask(key, 'a race 10')));
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
    await eventually(async () => expect(await countStored('a race 10')).toBe(1));
    await expectHit(key, 'a race, too 11');
  });

  it('is not stored when a guardrail denied it, when it failed, or when a limit shortened it', async () => {
    const key = await newKey();
    const output_guardrails = [
      { 'default.regexMatch': { rule: 'forbidden', not: true }, deny: true },
    ];
    const config = { output_guardrails };
    expect((await ask(key, 'forbidden 10', { config })).status).toBe(446);
    answer = (text, response) => sendJson(response, { error: { message: text } });
    await ask(key, 'an error 10');
    answer = (text, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: {"id": ${text}, "choices":[]}\n\n`);
    };
    await ask(key, 'no end 10', { params: { stream: true } });
    const limited = await newKey({ usage_limits: { type: 'tokens', credit_limit: 1_000 } });
    answer = (text, response) => sendJson(response, { ...chatAnswer, id: text });
    expect((await ask(limited, 'in short 10')).status).toBe(200);
    // Answers are stored in the order in which requests end.
    await store(key, 'allowed 10', { config });
    for (const text of ['forbidden 10', 'an error 10', 'no end 10', 'in short 10']) {
      expect(await countStored(text)).toBe(0);
    }
  });

  it('is judged by the guardrails of the caller who receives it', async () => {
    const key = await newKey();
    await store(key, 'judged 10');
    await expectHit(key, 'judged, too 11');
    const output_guardrails = [{ 'default.regexMatch': { rule: 'judged', not: true }, deny: true }];
    const denied = await ask(key, 'judged again 12', { config: { output_guardrails } });
    expect(denied).toMatchObject({ status: 446, cache: 'SEMANTIC HIT' });
  });

  it('is deleted with its workspace, and by the job after its time', async () => {
    const { server } = inference;
    const workspace_id = await newWorkspace('short-lived');
    const key = await newKey({ workspace_id });
    await store(key, 'to be deleted 10');
    await expectHit(key, 'to be deleted, too 11');
    const deletion = { body: { name: 'short-lived', force_delete: true } };
    const path = `/v1/admin/workspaces/${workspace_id}`;
    expect((await server.request('DELETE', path, deletion)).status).toBe(200);
    expect(await countStored('to be deleted 10')).toBe(0);
    expect(await countStored('')).toBeGreaterThan(0);
    server.clock.advance(8_000_000_000);
    expect((await server.app.jobs.runNow('delete-old-answers')).state).toBe('done');
    expect(await countStored('')).toBe(0);
  });
});

describe('the embedding', () => {
  it('is charged and logged as a call of its own, and counts the request once', async () => {
    const rate_limits = [{ type: 'requests', unit: 'rpw', value: 10 }];
    const { key, id } = await inference.addKey({ rate_limits });
    const answer = await ask(key, 'charged 10', { headers: { 'x-gateway-trace-id': 'charged' } });
    expect(answer.headers.ratelimit).toMatch(/;r=9;/);
    await logIsWritten(inference.server);
    const listed = await inference.server.request('GET', `/admin/v2/logs?api_key_id=${id}`);
    const rows = listed.body.data as RequestLogRecord[];
    expect(rows.find(({ endpoint }) => endpoint === 'embeddings')).toMatchObject({
      trace_id: 'charged',
      model: 'embedder',
      input_tokens: 3,
      target_path: 'config.cache.embedding',
      status: 200,
    });
    expect(rows.find(({ endpoint }) => endpoint === 'chat_completions')).toMatchObject({
      trace_id: 'charged',
      cache_status: 'SEMANTIC MISS',
    });
  });

  it.each<[string, typeof embed]>([
    ['fails', (_, response) => sendJson(response, { error: {} }, 500)],
    ['is no vector', (_, response) => sendJson(response, { data: [{ embedding: ['x'] }] })],
    ['breaks off', (_, response) => void response.destroy()],
    ['never ends', () => undefined],
  ])('does not fail the request when it %s', async (failure, failing) => {
    embed = failing;
    const key = await newKey();
    const embedding = { model: 'embedder', request_timeout: 100 };
    const got = await ask(key, `${failure} 10`, { cache: { embedding } });
    expect(got).toMatchObject({ status: 200, cache: 'SEMANTIC MISS' });
  });

  it('is not computed when the budget of the key is used up', async () => {
    const key = await newKey({ usage_limits: { type: 'tokens', credit_limit: 1 } });
    expect((await ask(key, 'too expensive 10')).status).toBe(412);
    expect(embedded).toEqual([]);
  });
});

describe('a config', () => {
  it.each<[string, object, string]>([
    ['a threshold of the simple mode', { mode: 'simple', threshold: 0.9 }, 'cache.threshold'],
    ['a threshold above 1', { mode: 'semantic', threshold: 1.1 }, 'cache.threshold'],
    [
      'a service as provider',
      { ...cache, embedding: { model: 'm', provider: 'openai' } },
      'cache.embedding.provider',
    ],
    [
      'a provider before the model',
      { ...cache, embedding: { model: '@a/m' } },
      'cache.embedding.model',
    ],
  ])('is refused for %s', async (_, wrong, path) => {
    const refused = await inference.chat(await newKey(), { config: { cache: wrong } });
    expect(refused.status).toBe(400);
    expect(refused.body.error.message).toContain(path);
  });

  it('finds identical requests without an embedding, and says so', async () => {
    const key = await newKey();
    const config = { cache: { mode: 'semantic' } };
    const first = await inference.chat(key, { config });
    expect(first.headers.warning).toContain('cache.embedding');
    const again = await inference.chat(key, { config });
    expect(again.headers['x-gateway-cache-status']).toBe('HIT');
  });
});
