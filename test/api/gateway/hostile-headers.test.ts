/** Verifies that no text from outside, in any place that can reach a header, stops the process or breaks a response. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { gatewayHeaderNames } from '../../../src/gateway/calls/response-headers.ts';
import { RawClient, type RawRequest } from '../../support/network/raw-client.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

const texts: Readonly<Record<string, string>> = {
  'a carriage return': 'a\r\nx-injected: 1',
  'a line feed': 'a\nb',
  'a zero character': 'a\0b',
  'a delete character': 'a\x7fb',
  'a tab': 'a\tb',
  'Latin-1': 'café',
  Chinese: '内部',
  'an emoji': '😀',
  'half a pair': 'a\ud800',
  'the other half': '\udc00\ud800',
  'right to left': '\u202ea',
  'only blanks': '   ',
  '64 KiB': 'a'.repeat(64 * 1024),
};

let inference: Inference;
let client: RawClient;
let key: string;

/** Errors that would have ended the process. */
const uncaught: unknown[] = [];
const note = (error: unknown) => uncaught.push(error);
process.on('uncaughtExceptionMonitor', note);

beforeAll(async () => {
  inference = await startInference();
  client = new RawClient(inference.server.inferenceUrl, 1);
  ({ key } = await inference.addKey({
    usage_limits: { credit_limit: 1000, type: 'cost' },
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 1_000_000 }],
  }));
});

afterEach(() => {
  expect(uncaught.splice(0)).toEqual([]);
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});

afterAll(async () => {
  process.off('uncaughtExceptionMonitor', note);
  client[Symbol.dispose]();
  await inference[Symbol.asyncDispose]();
});

interface Variant {
  readonly config?: object | string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly params?: object;
  readonly target?: string;
  readonly method?: string;
}

/** JSON in ASCII, because a header holds nothing else. */
function ascii(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The text as a header can hold it; its bytes are UTF-8. */
function latin1(text: string): string {
  return Buffer.from(text.replaceAll(/[\r\n\0]/g, '')).toString('latin1');
}

function target(): { provider: string; custom_host: string; api_key: string } {
  return { provider: 'mock-upstream', custom_host: inference.upstream.url, api_key: 'k' };
}

function requestOf({ config, headers = {}, params = {}, ...more }: Variant): RawRequest {
  const sent = config ?? target();
  const { target: at, method = 'POST' } = more;
  const body = { model: 'm', messages: [{ role: 'user', content: 'a' }], ...params };
  return {
    method,
    target: at ?? '/v1/chat/completions',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-gateway-config': typeof sent === 'string' ? sent : ascii(sent),
      ...(headers as Record<string, string>),
    },
    body: method === 'POST' ? JSON.stringify(body) : '',
  };
}

type OwnHeader = keyof ReturnType<typeof gatewayHeaderNames>;

/** How a caller influences each header of the gateway; the compiler demands every one. */
const own: Readonly<Record<OwnHeader, (text: string) => readonly Variant[]>> = {
  traceId: (text) => [{ headers: { 'x-gateway-trace-id': latin1(text) } }],
  provider: (text) => [
    { config: { ...target(), provider: text } },
    { config: { ...target(), virtual_key: text } },
    { headers: { 'x-gateway-provider': latin1(text) }, config: {} },
    {
      headers: {
        'x-gateway-provider': latin1(text),
        'x-gateway-custom-host': inference.upstream.url,
      },
      config: {},
    },
    { headers: { 'x-gateway-virtual-key': latin1(text) }, config: {} },
    { config: {}, params: { model: `@${text}/m` } },
  ],
  targetPath: (text) => [
    { config: { strategy: { mode: 'fallback' }, targets: [{ ...target(), name: text }] } },
  ],
  retries: () => [{ config: { ...target(), retry: { attempts: 1 } } }],
  cacheStatus: (text) => [
    { config: { ...target(), cache: { mode: 'simple' } }, params: { user: text } },
    { config: { ...target(), cache: { mode: text } } },
  ],
  usageRemaining: (text) => [{ params: { model: text } }],
  cost: (text) => [{ params: { model: text, user: text } }],
  droppedMembers: (text) => [
    {
      config: { ...target(), provider: 'anthropic', unsupported: 'drop' },
      params: { [text]: text },
    },
  ],
  selection: (text) => [
    {
      config: {
        strategy: { mode: 'loadbalance', balance_by: 'latency' },
        targets: [{ ...target(), name: text }],
      },
    },
  ],
  tokenCount: (text) => [
    { target: '/v1/messages/count_tokens', params: { model: text, system: text } },
  ],
  failedProviders: (text) => [
    {
      method: 'GET',
      target: '/v1/models',
      config: {
        strategy: { mode: 'fallback' },
        targets: [
          { ...target(), provider: text },
          { ...target(), override_params: { model: text } },
        ],
      },
    },
  ],
  exception: (text) => [
    { config: latin1(text) },
    { target: `/v1/prompts/${encodeURIComponent(text.toWellFormed())}/completions` },
    { target: `/v1/files/${encodeURIComponent(text.toWellFormed())}` },
    { params: { model: null, [text]: text } },
  ],
};

/** Places whose text reaches a header of the request to the provider, or nothing. */
const elsewhere: Readonly<Record<string, (text: string) => readonly Variant[]>> = {
  credential: (text) => [
    { config: { ...target(), api_key: text } },
    {
      config: { provider: 'mock-upstream', custom_host: inference.upstream.url },
      headers: { 'x-api-key': latin1(text) },
    },
  ],
  account: (text) => [
    {
      config: { ...target(), provider: 'openai', openai_organization: text, openai_project: text },
    },
    {
      config: { ...target(), provider: 'anthropic', anthropic_version: text, anthropic_beta: text },
    },
    {
      config: {
        ...target(),
        provider: 'azure-openai',
        azure_api_version: text,
        azure_deployment_id: text,
      },
    },
  ],
  'custom host': (text) => [
    { config: { ...target(), custom_host: text } },
    { config: { ...target(), custom_host: `${inference.upstream.url}/${text}` } },
  ],
  'forwarded headers': (text) => [
    {
      config: { ...target(), forward_headers: [text, 'x-own'] },
      headers: { 'x-own': latin1(text) },
    },
    { headers: { 'x-gateway-forward-headers': latin1(text) } },
  ],
  metadata: (text) => [{ headers: { 'x-gateway-metadata': ascii({ [text]: text, _user: text }) } }],
  timeout: (text) => [{ headers: { 'x-gateway-request-timeout': latin1(text) } }],
  overrides: (text) => [
    { config: { ...target(), override_params: { model: text, [text]: text } } },
  ],
};

async function faultOf(variant: Variant): Promise<string | null> {
  const { status, headers } = await client.send(requestOf(variant)).catch((error: Error) => ({
    status: 0,
    headers: { error: error.message } as Readonly<Record<string, string>>,
  }));
  const values = Object.entries(headers).flat().join('');
  const isWhole = status >= 200 && status !== 500 && !('x-injected' in headers);
  return isWhole && /^[\x20-\x7e]*$/.test(values)
    ? null
    : `${JSON.stringify(variant).slice(0, 200)}: ${status} ${JSON.stringify(headers)}`.slice(
        0,
        600,
      );
}

async function faultsOf(variants: readonly Variant[]): Promise<(string | null)[]> {
  const faults = [];
  for (const variant of variants) faults.push(await faultOf(variant));
  const after = await faultOf({});
  return [...faults, after].filter((fault) => fault !== null);
}

const fields = Object.entries({ ...own, ...elsewhere });

it.each(
  Object.entries(texts).flatMap(([name, text]) =>
    fields.map(([field, at]) => [field, name, at, text] as const),
  ),
)('answers a request whose %s contains %s', async (_, __, at, text) => {
  expect(await faultsOf(at(text))).toEqual([]);
});

it.each(Object.entries(texts))(
  'serves a config that was saved with %s as its provider',
  async (_, text) => {
    const { server } = inference;
    const saved = await server.request('POST', '/v1/configs', {
      body: { name: 'a', config: target() },
    });
    const { slug } = saved.body;
    // Such a config comes from a version that had no pattern for names.
    const config = JSON.stringify({ ...target(), provider: text });
    const { numUpdatedRows } = await server.database.db
      .updateTable('configs')
      .set({ config })
      .where('slug', '=', slug)
      .executeTakeFirstOrThrow();
    expect(numUpdatedRows).toBe(1n);
    expect(await faultsOf([{ config: slug }])).toEqual([]);
  },
);

it.each(['x-own', 'content-type', 'x-ratelimit-reset', 'retry-after', 'location'])(
  'passes on a response whose %s holds bytes beyond ASCII, or answers 502',
  async (name) => {
    for (const value of [
      'caf\u00e9',
      '\u00e5\u0086\u0085',
      'a'.repeat(8 * 1024),
      'a\tb',
      '\u00ff',
    ]) {
      inference.upstream.script = (_, response) => {
        const bytes = `HTTP/1.1 429 X\r\ncontent-type: application/json\r\n${name}: ${value}\r\ncontent-length: 2\r\n\r\n{}`;
        response.socket!.end(Buffer.from(bytes, 'latin1'));
      };
      const { status } = await client.send(requestOf({}));
      expect([429, 502]).toContain(status);
    }
  },
);

it('rejects a provider name that no header can hold, with its place', async () => {
  for (const provider of ['a\r\nb', '内部', '', ' a', '@', 'a b']) {
    const { status, body } = await client.send(requestOf({ config: { ...target(), provider } }));
    const { code, message } = JSON.parse(body).error;
    expect([status, code]).toEqual([400, 'invalid_config']);
    expect(message).toMatch(/^The config provider must have 1 to 254 letters/);
  }
});

it('counts no unexpected error for any of them', async () => {
  const metrics = await (await fetch(`${inference.server.metricsUrl}/metrics`)).text();
  expect(metrics).toContain('gatewright_unexpected_errors_total');
  expect(metrics).not.toMatch(/gatewright_unexpected_errors_total\{.*\} [1-9]/);
});
