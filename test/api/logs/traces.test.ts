/**
 * Verifies traces: the spans that reach a collector over HTTP, their contents, and that an
 * unavailable collector does not affect requests.
 */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RequestRecord } from '../../../src/gateway/logs/request-record.ts';
import { RequestTrace } from '../../../src/gateway/logs/request-trace.ts';
import { SpanExport, type SpanExportBounds } from '../../../src/gateway/logs/span-export.ts';
import { Secret } from '../../../src/secret.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { exchange } from '../../support/network/exchange.ts';
import { hangMs } from '../../support/run/common-options.ts';
import { eventually } from '../../support/server/eventually.ts';
import { startTestServer, type TestServer, testSettings } from '../../support/server/server.ts';
import {
  chatAnswer,
  sendJson,
  startUpstream,
  type TestUpstream,
} from '../../support/upstream/upstream.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code: number };
  readonly values: Record<string, unknown>;
}

interface Collector extends AsyncDisposable {
  readonly url: URL;
  /** Each body as it was received. */
  readonly bodies: string[];
  readonly headers: IncomingHttpHeaders[];
  /** The next responses in order, the last one repeated; null for none. */
  answers: ({ readonly status: number; readonly body?: object } | 'cut' | null)[];
  spans(): Span[];
}

async function startCollector(): Promise<Collector> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    collector.bodies.push(Buffer.concat(chunks).toString());
    collector.headers.push(request.headers);
    const { answers } = collector;
    const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
    if (answer === 'cut') response.destroy();
    else if (answer !== null) sendJson(response, answer.body ?? {}, answer.status);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  const collector: Collector = {
    url: new URL(`http://127.0.0.1:${port}/v1/traces`),
    bodies: [],
    headers: [],
    answers: [{ status: 200 }],
    spans: () => collector.bodies.flatMap(spansIn),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return collector;
}

function spansIn(body: string): Span[] {
  const { resourceSpans } = JSON.parse(body) as {
    resourceSpans: {
      resource: { attributes: Attribute[] };
      scopeSpans: { spans: (Omit<Span, 'values'> & { attributes: Attribute[] })[] }[];
    }[];
  };
  const [{ resource, scopeSpans }] = resourceSpans as [(typeof resourceSpans)[0]];
  expect(attributeValues(resource.attributes)).toMatchObject({
    'service.name': 'gateways-of-tests',
  });
  return scopeSpans.flatMap(({ spans }) =>
    spans.map(({ attributes, ...span }) => ({ ...span, values: attributeValues(attributes) })),
  );
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Integers are strings in OTLP JSON. */
function attributeValues(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      expect(Object.keys(value)).toHaveLength(1);
      return [key, Object.values(value)[0]];
    }),
  );
}

let server: TestServer;
let upstream: TestUpstream;
let collector: Collector;
let key: string;

const traceId = '0af7651916cd43dd8448eb211c80319c';
const callerSpan = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${callerSpan}-01`;
const chat = { model: 'gpt-test', messages: [{ role: 'user', content: 'canary-body' }] };

beforeAll(async () => {
  [upstream, collector] = await Promise.all([startUpstream(), startCollector()]);
  server = await startTracedServer(collector.url);
  key = await addKey(server);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await Promise.all([upstream[Symbol.asyncDispose](), collector[Symbol.asyncDispose]()]);
});

beforeEach(() => {
  for (const list of [upstream.reached, collector.bodies, collector.headers]) list.length = 0;
  collector.answers = [{ status: 200 }];
  upstream.script = (_, response) => sendJson(response, chatAnswer);
});

function startTracedServer(url: URL | null): Promise<TestServer> {
  const trusted = readTrustedHosts(upstream.host);
  const headers = new Secret({ 'x-collector-key': 'canary-collector' }, 'test');
  const expected = { headers, serviceName: 'gateways-of-tests', sampler };
  const traces = url === null ? null : { url, ...expected };
  return startTestServer({
    settings: {
      trustedHosts: 'hosts' in trusted ? trusted.hosts : [],
      inference: { ...testSettings().inference, traces },
    },
  });
}

async function addKey(of: TestServer): Promise<string> {
  const made = await of.request('POST', '/v1/api-keys/organisation/service', {
    body: { name: 'caller', scopes: ['completions.write'] },
  });
  expect(made.status).toBe(200);
  return made.body.key;
}

const target = () => ({
  provider: 'openai',
  api_key: 'canary-provider',
  custom_host: upstream.url,
});

function send(headers: Record<string, string>, { config = {}, of = server, by = key } = {}) {
  return exchange('POST', `${of.inferenceUrl}/v1/chat/completions`, chat, {
    authorization: `Bearer ${by}`,
    'x-gateway-config': JSON.stringify({ ...target(), ...config }),
    ...headers,
  });
}

/** Resolves with the spans of a trace once all have arrived. */
function spansOf(trace: string, count: number): Promise<Span[]> {
  return eventually(() => {
    const spans = collector.spans().filter((span) => span.traceId === trace);
    expect(spans).toHaveLength(count);
    return spans;
  });
}

const traceOf = (header: unknown): string => String(header).split('-')[1]!;

async function figure(outcome: 'exported' | 'lost', of = server): Promise<number> {
  const { body } = await exchange('GET', `${of.metricsUrl}/metrics`, undefined, {});
  const found = new RegExp(`^gatewright_trace_spans_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm');
  return Number(found.exec(body)![1]);
}

describe('the spans of a request', () => {
  it("is a child of the caller's span and one for the provider call, whose traceparent is forwarded", async () => {
    const answer = await send({ traceparent, tracestate: 'vendor=1' });
    expect(answer.status).toBe(200);
    const spans = await spansOf(traceId, 2);
    const request = spans.find(({ kind }) => kind === 2)!;
    const call = spans.find(({ kind }) => kind === 3)!;
    expect(request).toMatchObject({
      parentSpanId: callerSpan,
      name: 'POST /v1/chat/completions',
      values: {
        'http.request.method': 'POST',
        'http.route': '/v1/chat/completions',
        'http.response.status_code': '200',
        'gen_ai.request.model': 'gpt-test',
        'gatewright.request.id': answer.headers['x-gateway-trace-id'],
        'gatewright.organisation.id': server.organisationId,
        'gatewright.provider': 'openai',
        'gatewright.stream': false,
      },
    });
    expect(call).toMatchObject({
      parentSpanId: request.spanId,
      name: 'chat gpt-test',
      values: {
        'http.response.status_code': '200',
        'server.address': '127.0.0.1',
        'server.port': new URL(upstream.url).port,
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-test',
        'gen_ai.usage.input_tokens': '5',
        'gen_ai.usage.output_tokens': '2',
        'gen_ai.response.model': chatAnswer.model,
      },
    });
    expect(call.values).not.toHaveProperty('gen_ai.response.time_to_first_chunk');
    const [reached] = upstream.reached;
    expect(reached!.headers.traceparent).toBe(`00-${traceId}-${call.spanId}-01`);
    expect(reached!.headers.tracestate).toBe('vendor=1');
    for (const { spanId, startTimeUnixNano: from, endTimeUnixNano: to, status } of spans) {
      expect(spanId).toMatch(/^(?!0{16})[\da-f]{16}$/);
      expect(BigInt(to) >= BigInt(from)).toBe(true);
      expect(BigInt(from) / 1_000_000n).toBeGreaterThanOrEqual(BigInt(server.clock.now()));
      expect(status).toBeUndefined();
    }
    expect(collector.headers[0]).toMatchObject({
      'x-collector-key': 'canary-collector',
      'content-type': 'application/json',
    });
  });

  it.each([
    ['malformed', `00-${traceId.toUpperCase()}-${callerSpan}-01`],
    ['of a trace that is none', `00-${'0'.repeat(32)}-${callerSpan}-01`],
  ])('begins a new trace without tracestate when the traceparent is %s', async (_, wrong) => {
    await send({ traceparent: wrong, tracestate: 'vendor=1' });
    const [{ headers }] = upstream.reached as [(typeof upstream.reached)[0]];
    expect(headers.traceparent).toMatch(/^00-[\da-f]{32}-[\da-f]{16}-01$/);
    expect(traceOf(headers.traceparent)).not.toBe(traceId);
    expect(headers.tracestate).toBeUndefined();
    const spans = await spansOf(traceOf(headers.traceparent), 2);
    expect(spans.find(({ kind }) => kind === 2)).not.toHaveProperty('parentSpanId');
  });

  it('contains the model parameters in the types of the conventions, and no text', async () => {
    const trace = 'b'.repeat(32);
    upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify({ ...chatAnswer, choices: [] })}\n\ndata: [DONE]\n\n`);
    };
    const query = {
      max_completion_tokens: 30,
      temperature: 1,
      top_p: 0.5,
      seed: 1e300,
      n: 2,
      stream: true,
      presence_penalty: 'canary',
      stop: ['canary'],
      response_format: { type: 'json_object' },
    };
    const config = { override_params: query };
    await send({ traceparent: `00-${trace}-${callerSpan}-01` }, { config });
    const call = (await spansOf(trace, 2)).find(({ kind }) => kind === 3)!;
    const { 'gen_ai.response.time_to_first_chunk': seconds, ...values } = call.values;
    expect(seconds).toBeGreaterThan(0);
    expect(
      Object.entries(values).filter(([key]) => /gen_ai\.(request|output|resp)/.test(key)),
    ).toEqual([
      ['gen_ai.request.model', 'gpt-test'],
      ['gen_ai.request.max_tokens', '30'],
      ['gen_ai.request.temperature', 1],
      ['gen_ai.request.top_p', 0.5],
      ['gen_ai.request.seed', 1e300],
      ['gen_ai.request.choice.count', '2'],
      ['gen_ai.request.stream', true],
      ['gen_ai.output.type', 'json'],
      ['gen_ai.response.model', chatAnswer.model],
    ]);
    expect(JSON.stringify(call)).not.toContain('canary');
  });

  it('is omitted when the caller does not sample, and the traceparent is forwarded unchanged', async () => {
    const unsampled = `00-${'c'.repeat(32)}-${callerSpan}-00`;
    await send({ traceparent: unsampled });
    await send({ traceparent: `00-${'d'.repeat(32)}-${callerSpan}-01` });
    await spansOf('d'.repeat(32), 2);
    expect(collector.bodies.join()).not.toContain('c'.repeat(32));
    expect(upstream.reached[0]!.headers.traceparent).toBe(unsampled);
  });

  it('is created for each attempt and each target, with the outcome', async () => {
    const trace = 'e'.repeat(32);
    upstream.script = ({ url }, response) =>
      url.startsWith('/v1/') ? sendJson(response, chatAnswer) : sendJson(response, {}, 503);
    const bad = `http://${upstream.host}/bad`;
    const config = {
      provider: undefined,
      api_key: undefined,
      custom_host: undefined,
      strategy: { mode: 'fallback' },
      targets: [
        { ...target(), custom_host: bad, retry: { attempts: 1, on_status_codes: [503] } },
        target(),
      ],
    };
    await send({ traceparent: `00-${trace}-${callerSpan}-01` }, { config });
    const spans = await spansOf(trace, 4);
    const request = spans.find(({ kind }) => kind === 2)!;
    const calls = spans.filter(({ kind }) => kind === 3);
    expect(request.status).toBeUndefined();
    expect(calls.map(({ values }) => values['http.response.status_code'])).toEqual([
      '503',
      '503',
      '200',
    ]);
    expect(calls.map(({ status }) => status?.code)).toEqual([2, 2, undefined]);
    expect(calls.map(({ values }) => values['error.type'])).toEqual(['503', '503', undefined]);
    expect(calls.map(({ values }) => values['gen_ai.usage.input_tokens'])).toEqual([
      undefined,
      undefined,
      '5',
    ]);
    expect(new Set([callerSpan, ...spans.map(({ spanId }) => spanId)]).size).toBe(5);
    const reported = upstream.reached.map(({ headers }) => headers.traceparent);
    expect(reported).toEqual(calls.map(({ spanId }) => `00-${trace}-${spanId}-01`));
  });

  it('is created for an unreachable provider and for a rejected caller', async () => {
    const [gone, stranger] = ['1'.repeat(32), '2'.repeat(32)];
    upstream.script = (_, response) => {
      response.destroy();
    };
    await send({ traceparent: `00-${gone}-${callerSpan}-01` });
    await send({ traceparent: `00-${stranger}-${callerSpan}-01` }, { by: 'canary-wrong-key' });
    const [request, call] = await spansOf(gone, 2);
    expect(request).toMatchObject({
      status: { code: 2 },
      values: { 'http.response.status_code': '502', 'error.type': 'upstream_unreachable' },
    });
    expect(call).toMatchObject({
      status: { code: 2 },
      values: { 'error.type': 'upstream_unreachable' },
    });
    expect(call!.values).not.toHaveProperty('http.response.status_code');
    const [refused] = await spansOf(stranger, 1);
    expect(refused).toMatchObject({ values: { 'http.response.status_code': '401' } });
    expect(refused!.status).toBeUndefined();
  });

  it('contains no key, no credential, nothing of a body and no header value', async () => {
    const trace = '3'.repeat(32);
    upstream.script = (_, response) => {
      response.setHeader('x-answer', 'canary-answer-header');
      sendJson(response, { ...chatAnswer, id: 'canary-answer' });
    };
    const path = '/v1/images/generations?api-version=canary-query';
    const headers = {
      traceparent: `00-${trace}-${callerSpan}-01`,
      tracestate: 'vendor=canary-state',
      cookie: 'canary-cookie',
      'user-agent': 'canary-agent',
      'x-mine': 'canary-header',
      'x-gateway-forward-headers': 'x-mine',
      'x-gateway-metadata': '{"team":"canary-metadata"}',
    };
    await send(headers);
    await exchange(
      'POST',
      server.inferenceUrl + path,
      { model: 'm', prompt: 'canary-body' },
      {
        ...headers,
        authorization: `Bearer ${key}`,
        'x-gateway-config': JSON.stringify(target()),
      },
    );
    await spansOf(trace, 4);
    const sent = collector.bodies.join();
    expect(sent).not.toContain('canary');
    expect(sent).not.toContain(key);
    expect(server.logLines.join()).not.toContain('canary-collector');
  });
});

/** The default sampler. */
const sampler = { heedsParent: true, ratio: 1 };

/** An exporter to the collector of these tests, with the losses it reported. */
function openExport(bounds: Partial<SpanExportBounds> = {}) {
  const losses: (readonly [string, number])[] = [];
  const spans = new SpanExport({
    source: { name: 'gateways-of-tests', version: '0' },
    url: collector.url,
    headers: undefined,
    proxies: null,
    bounds,
    sampler,
    onLoss: (reason, count) => losses.push([reason, count]),
  });
  return { spans, losses };
}

/** Adds requests without provider calls; returns the ids of their spans. */
function addRequests(spans: SpanExport, count: number): string[] {
  const noText = { organisationId: null, workspaceId: null, apiKeyId: null, configId: null };
  const noModel = { requestedModel: null, model: null, answeredModel: null };
  const noProvider = { provider: null, service: null, targetPath: null };
  const noTarget = { ...noModel, ...noProvider, guardrailVerdict: null, guardrails: null };
  const noChecks = { guardrailChecks: [] };
  const record: RequestRecord = {
    ...noText,
    ...noTarget,
    ...noChecks,
    id: 'one',
    droppedMembers: [],
    targetSelection: null,
    endpoint: 'models',
    status: 200,
    retries: 0,
    startedAt: Date.UTC(2027, 0, 4),
    durationMs: 1.5,
    firstByteMs: 1,
    cacheStatus: null,
    isStream: false,
    tokens: null,
    costUnits: null,
    isEstimated: false,
    priceOrigin: null,
    errorCode: null,
    earlierAttempts: [],
    openCharge: null,
    mcp: null,
    metadata: {},
    promptSlug: null,
  };
  return Array.from({ length: count }, () => {
    const trace = new RequestTrace(null, '1'.repeat(32), 'GET', 0);
    spans.add(trace, record, true);
    return trace.spanId;
  });
}

describe('without a collector', () => {
  it('forwards any traceparent unchanged, and has no metrics', async () => {
    await using other = await startTracedServer(null);
    const by = await addKey(other);
    for (const value of [traceparent, 'not a traceparent']) {
      await send({ traceparent: value }, { of: other, by });
    }
    const reported = upstream.reached.map(({ headers }) => headers.traceparent);
    expect(reported).toEqual([traceparent, 'not a traceparent']);
    const { body } = await exchange('GET', `${other.metricsUrl}/metrics`, undefined, {});
    expect(body).not.toContain('gatewright_trace_spans');
  });
});

describe('a collector', () => {
  it('does not affect requests when it is unavailable; losses are counted and logged once', async () => {
    await using away = await startCollector();
    await using other = await startTracedServer(away.url);
    const by = await addKey(other);
    away.answers = [{ status: 400 }];
    for (const _ of [1, 2, 3]) {
      expect((await send({}, { of: other, by })).status).toBe(200);
      const before = away.bodies.length;
      await eventually(() => expect(away.bodies.length).toBeGreaterThan(before));
    }
    await eventually(async () => expect(await figure('lost', other)).toBe(6));
    expect(await figure('exported', other)).toBe(0);
    const reported = other.logLines.filter((line) => line.includes('spans of requests are lost'));
    expect(reported).toHaveLength(1);
    expect(reported[0]).toContain('answered with 400');
  });

  it('does not delay the shutdown when it never responds, and queued spans count as lost', async () => {
    collector.answers = [null];
    const { spans, losses } = openExport();
    addRequests(spans, 3);
    await spans.close(1);
    expect(spans.figures()).toEqual({ exported: 0, lost: 3, waiting: 0 });
    expect(losses).toEqual([['the collector did not take them before the end', 3]]);
  });

  it('receives each span once after it was overloaded', async () => {
    collector.answers = [{ status: 503 }, { status: 429 }, { status: 200 }];
    const { spans } = openExport({ flushEveryMs: 1, retryMs: 1 });
    addRequests(spans, 2);
    await eventually(() => expect(spans.figures().exported).toBe(2));
    const [first, ...again] = collector.bodies;
    expect(again).toEqual([first, first]);
    await spans.close(hangMs);
    expect(spans.figures()).toEqual({ exported: 2, lost: 0, waiting: 0 });
  });

  it('is given up after some attempts', async () => {
    collector.answers = ['cut'];
    const { spans, losses } = openExport({ retryMs: 1, triesMax: 3 });
    addRequests(spans, 2);
    await spans.close(hangMs);
    expect(collector.bodies).toHaveLength(3);
    expect(losses).toEqual([[expect.stringContaining('the collector cannot be reached'), 2]]);
  });

  it('leaves a limited queue when it is slow, and surplus spans count as lost', async () => {
    collector.answers = [null];
    const { spans } = openExport({ waitingMax: 10 });
    addRequests(spans, 25);
    expect(spans.figures()).toEqual({ exported: 0, lost: 15, waiting: 10 });
    await spans.close(1);
    expect(spans.figures()).toEqual({ exported: 0, lost: 25, waiting: 0 });
  });

  it('counts spans as lost when it rejects a part', async () => {
    collector.answers = [{ status: 200, body: { partialSuccess: { rejectedSpans: '2' } } }];
    const { spans } = openExport();
    addRequests(spans, 5);
    await spans.close(hangMs);
    expect(spans.figures()).toEqual({ exported: 3, lost: 2, waiting: 0 });
  });

  it('receives many spans in batches, each once', async () => {
    const { spans } = openExport();
    const ids = addRequests(spans, 1_000);
    await spans.close(hangMs);
    expect(collector.bodies.length).toBeGreaterThan(1);
    expect(collector.spans().map(({ spanId }) => spanId)).toEqual(ids);
  });

  it('receives the remaining spans when the process ends', async () => {
    await using last = await startCollector();
    const other = await startTracedServer(last.url);
    const by = await addKey(other);
    await send({ traceparent }, { of: other, by });
    await other[Symbol.asyncDispose]();
    expect(last.spans()).toHaveLength(2);
  });
});
