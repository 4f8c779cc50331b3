/**
 * Tests the response cache: which responses are reused, for whom, for how long, and in how much
 * memory.
 */
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type Exchange, ownHeaders } from '../../../src/gateway/callers/exchange.ts';
import {
  type CacheUse,
  cacheUseOf,
  ResponseCache,
} from '../../../src/gateway/calls/response-cache.ts';
import type { ResolvedTarget } from '../../../src/gateway/targets/resolve-target.ts';
import { defaultTargetSettings } from '../../../src/model/configs/config-tree.ts';

const settings = {
  ...defaultTargetSettings,
  cache: { maxAgeSeconds: 60, semantic: null },
};
const text = '{"model":"m","messages":[{"role":"user","content":"hello"}],"seed":1}';
const json = { 'content-type': 'application/json; charset=utf-8' };

/** A request and its caller. */
interface CacheRequest {
  readonly organisation?: string;
  readonly workspace?: string;
  readonly provider?: string;
  readonly origin?: string;
  readonly path?: string;
  readonly body?: string;
  readonly credential?: string;
  readonly headers?: Record<string, string>;
  readonly method?: string;
}

function useOf(request: CacheRequest, from = settings) {
  const { organisation = 'o', workspace = 'w', body = text, headers = {} } = request;
  const { path = '/chat/completions', method = 'POST', credential = 'sk-1' } = request;
  const incoming = { method, headers } as unknown as IncomingMessage;
  const key = { organisationId: organisation, workspace: { id: workspace } };
  const header = ownHeaders(incoming, ['x-gateway-']);
  const fields = { request: incoming, header, path, params: JSON.parse(body), isJson: true, key };
  const exchange = fields as unknown as Exchange;
  const call = {
    origin: request.origin ?? 'https://one.example',
    path: `/v1${path}`,
    headers: { authorization: `Bearer ${credential}`, ...headers },
    body: Buffer.from(body),
  };
  const target = { provider: request.provider ?? 'openai', call } as unknown as ResolvedTarget;
  // Bodies of these tests are short.
  return cacheUseOf(from, target, exchange) as CacheUse;
}

const markOf = (request: CacheRequest) => useOf(request).key!;

describe('requests', () => {
  it.each<[string, CacheRequest]>([
    ['an organisation', { organisation: 'p' }],
    ['a workspace', { workspace: 'x' }],
    ['a provider', { provider: '@team-openai' }],
    ['an address', { origin: 'https://two.example' }],
    ['a path', { path: '/completions' }],
    ['a credential', { credential: 'sk-2' }],
    ['a header that goes to the provider', { headers: { 'openai-beta': 'x' } }],
    ['a namespace', { headers: { 'x-gateway-cache-namespace': 'mine' } }],
    ['a value', { body: text.replace('hello', 'hallo') }],
    [
      'a number beyond what JSON reads exactly',
      { body: text.replace(':1}', ':9007199254740993}') },
    ],
    ['a duplicate nested member', { body: text.replace('"content"', '"content":"x","content"') }],
  ])('keeps requests apart that differ by %s', (_, request) => {
    expect(markOf(request)).not.toBe(markOf({}));
  });

  it('keeps requests apart whose numbers differ only as text', () => {
    const big = (last: string) => markOf({ body: text.replace(':1}', `:900719925474099${last}}`) });
    expect(big('2')).not.toBe(big('3'));
  });

  it.each<[string, CacheRequest]>([
    [
      'the order of members and white space',
      {
        body: '{ "seed": 1,\n"messages":[{"role":"user","content":"hello"}], "model" : "m"}',
      },
    ],
    ['their trace', { headers: { traceparent: '00-1', 'idempotency-key': 'once' } }],
  ])('treats requests that differ by %s as one', (_, request) => {
    expect(markOf(request)).toBe(markOf({}));
  });

  it.each<[string, CacheRequest]>([
    ['for streams', { body: text.replace('{', '{"stream":true,') }],
    ['that only read data', { method: 'GET' }],
    ['whose responses the provider stores', { path: '/responses' }],
  ])('ignores requests %s', (_, request) => {
    expect(useOf(request).key).toBeNull();
  });

  it('ignores requests of configs without a cache', () => {
    expect(useOf({}, defaultTargetSettings as typeof settings).key).toBeNull();
  });
});

describe('a cached response', () => {
  const body = Buffer.from('{"choices":[]}');
  const use = useOf({});
  const mark = use.key!;

  it('is returned until it exceeds the maximum age of the caller', () => {
    const cache = new ResponseCache();
    cache.add(mark, { status: 200, headers: json, body }, 1_000);
    expect(cache.find(use, 60_999)).toMatchObject({ status: 200, body });
    expect(cache.find(use, 61_000)).toBeNull();
    expect(cache.find({ ...use, maxAgeMs: 70_000 }, 61_000)).not.toBeNull();
  });

  it('is bypassed when the caller forces a refresh', () => {
    const cache = new ResponseCache();
    cache.add(mark, { status: 200, headers: json, body }, 0);
    const forced = useOf({ headers: { 'x-gateway-cache-force-refresh': 'True' } });
    expect(cache.find({ ...forced, key: mark }, 1)).toBeNull();
  });

  it.each([
    ['a failure', { status: 500 }],
    ['a failure with a success status', { body: Buffer.from('{"error":{"code":429}}') }],
    ['no JSON', { body: Buffer.from('{"choices":') }],
    ['no JSON by its type', { headers: { 'content-type': 'text/event-stream' } }],
    ['compressed', { headers: { ...json, 'content-encoding': 'gzip' } }],
    ['large', { body: Buffer.from(JSON.stringify('x'.repeat(1024 * 1024))) }],
  ])('does not store a response that is %s', (_, answer) => {
    const cache = new ResponseCache();
    cache.add(mark, { status: 200, headers: json, body, ...answer }, 0);
    expect(cache.find(use, 1)).toBeNull();
  });

  it('is evicted beyond the bounds, the least recently used first', () => {
    const cache = new ResponseCache(3 * 1_600);
    const object = { status: 200, headers: json, body: Buffer.from(`{"a":"${'x'.repeat(993)}"}`) };
    for (const one of ['a', 'b', 'c']) cache.add(one, object, 0);
    expect(cache.find({ ...use, key: 'a' }, 1)).not.toBeNull();
    cache.add('d', object, 0);
    const stored = ['a', 'b', 'c', 'd'].filter((one) => cache.find({ ...use, key: one }, 1));
    expect(stored).toEqual(['a', 'c', 'd']);
    // Adding the same response again takes no more room.
    for (let at = 0; at < 100; at += 1) cache.add('d', object, 0);
    expect(cache.find({ ...use, key: 'a' }, 1)).not.toBeNull();
  });
});
