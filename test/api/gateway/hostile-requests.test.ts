/** Verifies that no body, path or query of a caller causes a server error in the gateway. */
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { hostileParts, hostileTexts, hostileValues } from '../../support/network/hostile-texts.ts';
import { RawClient } from '../../support/network/raw-client.ts';
import { isLong, seed } from '../../support/run/test-effort.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';

let inference: Inference;
let client: RawClient;
let headers: Record<string, string>;

beforeAll(async () => {
  inference = await startInference();
  client = new RawClient(inference.server.inferenceUrl);
  const { key } = await inference.addKey();
  const config = { provider: 'mock-upstream', custom_host: inference.upstream.url };
  headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'x-gateway-config': JSON.stringify(config),
  };
});
/** Errors that would have ended the process. */
const uncaught: unknown[] = [];
const note = (error: unknown) => uncaught.push(error);
process.on('uncaughtExceptionMonitor', note);
afterEach(() => expect(uncaught.splice(0)).toEqual([]));

afterAll(async () => {
  process.off('uncaughtExceptionMonitor', note);
  client[Symbol.dispose]();
  await inference[Symbol.asyncDispose]();
});

/** Returns what is wrong with the response, or null. */
async function faultOf(
  method: string,
  target: string,
  body?: string | Buffer,
  more: Readonly<Record<string, string>> = {},
) {
  const answer = await client.send({ method, target, headers: { ...headers, ...more }, body });
  const isFine = answer.status < 400 || (answer.status < 500 && isError(answer.body));
  return isFine
    ? null
    : `${method} ${target} ${body}: ${answer.status} ${answer.body}`.slice(0, 600);
}

function isError(body: string): boolean {
  const { error } = JSON.parse(body);
  return typeof error?.message === 'string' && error.message !== '';
}

/**
 * Selects one in `every` items, beginning at another one for each seed; all of them in a long run.
 */
function some<T>(all: readonly T[], every: number): readonly T[] {
  return isLong ? all : all.filter((_, at) => (at + seed) % every === 0);
}

async function faultsOf(requested: readonly Readonly<Parameters<typeof faultOf>>[]) {
  const found = await Promise.all(requested.map((one) => faultOf(...one)));
  return found.filter((fault) => fault !== null);
}

const fields: Readonly<Record<string, readonly string[]>> = {
  '/v1/chat/completions': ['model', 'messages', 'tools', 'stream', 'stream_options', 'max_tokens'],
  '/v1/messages': ['model', 'messages', 'system', 'tools', 'stream', 'max_tokens'],
  '/v1/responses': ['model', 'input', 'previous_response_id', 'tools', 'store', 'stream'],
  '/v1/embeddings': ['model', 'input', 'dimensions'],
  '/v1/threads': ['messages', 'metadata', 'tool_resources'],
  '/v1/threads/runs': ['assistant_id', 'thread', 'tools'],
  '/v1/assistants': ['model', 'name', 'tools', 'tool_resources', 'metadata'],
  '/v1/vector_stores': ['name', 'file_ids', 'expires_after', 'chunking_strategy', 'metadata'],
  '/v1/files': ['file', 'purpose'],
  '/v1/batches': ['input_file_id', 'endpoint'],
  '/v1/prompts/none/completions': ['variables', 'model'],
  '/v1/prompts/none/render': ['variables', 'model'],
  '/v1/feedback': ['trace_id', 'value', 'metadata'],
  '/v1/logs': ['request', 'response', 'metadata'],
};
const wrongTypes: readonly string[] = [
  'null',
  'true',
  '-1',
  '1.5',
  '"é😀"',
  '[]',
  '[null]',
  '[[]]',
  '{}',
  '[{"type":7,"role":{}}]',
  '[{"role":"user","content":[null,{"type":"input_file","file_id":"é"}]}]',
  '[{"type":"file_search","vector_store_ids":["é",7,null]}]',
  '{"file_search":{"vector_store_ids":["é"],"vector_stores":[{"file_ids":["é"]}]}}',
];

it('accepts or rejects every body in the error format', async () => {
  const values = [...Object.values(hostileValues), ...wrongTypes];
  const bodies = Object.entries(fields).flatMap(([path, names]) => [
    ...Object.values(hostileTexts).map((body) => ['POST', path, body] as const),
    ...names.flatMap((name) =>
      values.map((value) => {
        const model = name === 'model' ? '' : '"model":"m",';
        return ['POST', path, `{${model}"${name}":${value}}`] as const;
      }),
    ),
  ]);
  expect(await faultsOf(some(bodies, 11))).toEqual([]);
});

it('returns 400 for the input of a response that contains anything but items', async () => {
  for (const input of [[null], [7], [[]]]) {
    const body = JSON.stringify({ model: 'm', input });
    const answer = await client.send({ method: 'POST', target: '/v1/responses', headers, body });
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body).error.param).toBe('input');
  }
});

const places: readonly string[] = [
  'responses/X',
  'responses/X/input_items',
  'threads/X',
  'threads/X/messages/X',
  'threads/X/runs/X',
  'threads/X/runs/X/steps/X',
  'assistants/X',
  'vector_stores/X',
  'vector_stores/X/files/X',
  'vector_stores/X/file_batches/X',
  'files/X',
  'files/X/content',
  'batches/X',
  'batches/X/output',
  'fine_tuning/jobs/X',
  'conversations/X',
  'containers/X',
  'prompts/X',
  'prompts/X/render',
  'prompts/X/completions',
  'models/X',
  'uploads/X/parts',
  'assistants?after=X',
  'vector_stores?before=X',
  'files?after=X',
  'batches?limit=X',
];
const beyondAscii = ['%F0%9F%98%80', '%C3%A9', 'thread_gw%C3%A9'];

it('returns 404 for an unknown id, with whatever characters', async () => {
  const requestsFor = (parts: readonly string[]) =>
    places.flatMap((place) =>
      parts.flatMap((part) => {
        const target = `/v1/${place.replaceAll('X', part)}`;
        return [['GET', target] as const, ['POST', target, '{}'] as const];
      }),
    );
  const all = [...some(requestsFor(beyondAscii), 3), ...some(requestsFor(hostileParts), 17)];
  expect(await faultsOf(all)).toEqual([]);
});

const part = (head: string, text = 'abc') => `--x\r\n${head}\r\n\r\n${text}\r\n`;
const named = (name: string) => part(`Content-Disposition: form-data; name="${name}"`);
const file = part('Content-Disposition: form-data; name="file"; filename="a"');
const end = '--x--\r\n';
const forms: Readonly<Record<string, string>> = {
  'that is nothing but its end': end,
  'that is none': '{}',
  'that ends within its file': file.slice(0, -4),
  'that ends within the name of a part': '--x\r\nContent-Disposition: form-data; na',
  'that has a part without a name': part('A: b') + end,
  'that has two files': file + file + end,
  'that has more parts than are read': named('purpose').repeat(1_000) + end,
  'that has a name without end': named('a'.repeat(100_000)) + end,
  'that has a form within': part('Content-Type: multipart/mixed; boundary=y', '--y--') + end,
  'that names a file elsewhere': file.replace('"a"', '"../../a"') + end,
  'that names its file otherwise': file.replace('filename="a"', "filename*=utf-8''%zz") + end,
  'that says its file in another coding': `--x\r\nContent-Transfer-Encoding: base64\r\n${file.slice(5)}${end}`,
  'that ends its lines otherwise': (file + end).replaceAll('\r\n', '\n'),
};
const types: readonly string[] = [
  'text/plain',
  '',
  'a',
  '*/*',
  'application/json; charset=utf-16',
  'application/json;;;',
  'APPLICATION/JSON',
  'application/json, text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary="a',
  ...[71, 300, 5_000].map((length) => `multipart/form-data; boundary=${'a'.repeat(length)}`),
  'multipart/form-data; boundary=x; boundary=y',
  'multipart/form-data; boundary=\xff',
];
const ofForms = [
  '/v1/files',
  '/v1/uploads/X/parts',
  '/v1/responses',
  '/v1/videos',
  '/v1/images/edits',
  '/v1/containers/X/files',
  '/v1/vector_stores',
  '/v1/chat/completions',
  '/v1/logs',
];

it('accepts or rejects every form, whatever its content and content type', async () => {
  const typed = { 'content-type': 'multipart/form-data; boundary=x' };
  const requests = ofForms.flatMap((target) => [
    ...Object.values(forms).map((body) => ['POST', target, body, typed] as const),
    ...types.map((type) => ['POST', target, '{"model":"m"}', { 'content-type': type }] as const),
  ]);
  const ofFiles = requests.filter(([, target]) => target === '/v1/files');
  const chosen = [...ofFiles, ...some(requests, 7)];
  expect(await faultsOf(chosen)).toEqual([]);
});

it('returns 415 for a body with a content encoding, and sends nothing to a provider', async () => {
  const zeros = Buffer.alloc(1024 * 1024);
  const codings: Readonly<Record<string, Buffer>> = {
    gzip: gzipSync(zeros),
    br: brotliCompressSync(zeros),
    zstd: zstdCompressSync(zeros),
    deflate: deflateSync(zeros),
    'gzip, gzip': gzipSync(gzipSync(zeros)),
    other: Buffer.from('{}'),
  };
  inference.upstream.reached.length = 0;
  for (const [coding, body] of Object.entries(codings)) {
    for (const target of ['/v1/chat/completions', '/v1/files', '/v1/feedback']) {
      const sent = { ...headers, 'content-encoding': coding };
      const answer = await client.send({ method: 'POST', target, headers: sent, body });
      expect([target, coding, answer.status]).toEqual([target, coding, 415]);
    }
  }
  expect(inference.upstream.reached).toEqual([]);
});
