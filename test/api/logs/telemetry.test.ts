/** Verifies graphs, charts and groups of requests with two kinds of unmodified clients. */
import { AIGatewayClient } from '@cdot65/prisma-airs-sdk';
import { Portkey } from 'portkey-ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RequestLog } from '../../../src/gateway/logs/request-log.ts';
import { sortingFigures } from '../../../src/store/logs/request-sums.ts';
import { CalledMethods } from '../../support/interface/called-methods.ts';
import { requestRecord } from '../../support/rows/request-records.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const apiKeyId = '0f5b7a52-6a3c-4f0e-9d1e-2b7c5f8a9d10';
const otherKeyId = '0f5b7a52-6a3c-4f0e-9d1e-2b7c5f8a9d11';
let server: TestServer;
let methods: CalledMethods<AIGatewayClient>;
let telemetry: AIGatewayClient['telemetry'];
let analytics: Portkey['analytics'];
let slug: string;
let configSlug: string;

beforeAll(async () => {
  server = await startTestServer();
  const real = new AIGatewayClient({
    clientId: server.clientId,
    clientSecret: server.clientSecret,
    tsgId: server.tsgId,
    dataEndpoint: `${server.url}/v2`,
    adminEndpoint: `${server.url}/admin/v2`,
    tokenEndpoint: `${server.url}/oauth2/access_token`,
    numRetries: 0,
  });
  methods = new CalledMethods(real, (value) => value.constructor.name.endsWith('TelemetryClient'));
  telemetry = methods.client.telemetry;
  const portkey = new Portkey({ apiKey: server.organisationApiKey, baseURL: `${server.url}/v1` });
  analytics = portkey.analytics;
  const workspace = await server.request('POST', '/v2/workspaces', { body: { name: 'Team' } });
  slug = workspace.body.slug;
  const config = await server.request('POST', '/v2/configs', {
    body: { name: 'c', config: { retry: { attempts: 1 } }, workspace_id: slug },
  });
  configSlug = config.body.slug;
  await logRequests(workspace.body.id, config.body.id);
});

afterAll(() => server[Symbol.asyncDispose]());

/** Logs a retried request, one from the cache, two errors, and one of another workspace. */
async function logRequests(workspaceId: string, configId: string): Promise<void> {
  const { database, organisationId } = server;
  const log = new RequestLog({ database, onLoss: () => {} });
  const record = (time: string, more: Parameters<typeof requestRecord>[1]) =>
    log.record(
      requestRecord(organisationId, {
        startedAt: Date.parse(`2027-01-${time}Z`),
        workspaceId,
        apiKeyId,
        durationMs: 100,
        metadata: {},
        ...more,
      }),
    );
  const tokens = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 0, cacheWriteTokens: 0 };
  const noUse = { tokens: null, costUnits: null };
  record('03T10:10:00', {
    tokens,
    costUnits: 20_000,
    retries: 1,
    configId,
    id: 'order-17',
    guardrailVerdict: 'passed',
    metadata: { _user: 'anna', team: 'a' },
  });
  record('03T10:20:00', {
    ...noUse,
    cacheStatus: 'HIT',
    durationMs: 20,
    apiKeyId: otherKeyId,
    metadata: { _user: 'ben', team: 'b' },
  });
  record('03T11:00:00', {
    ...noUse,
    provider: 'anthropic',
    model: 'claude',
    status: 429,
    guardrailVerdict: 'denied',
  });
  record('04T07:00:00', { ...noUse, status: 500, metadata: { _user: 'anna', team: 'a' } });
  record('03T10:30:00', { workspaceId: null, apiKeyId: otherKeyId, costUnits: 50_000 });
  await log.close(60_000);
}

const window = () => ({
  workspaceSlug: slug,
  start: new Date('2027-01-01T00:00:00Z'),
  end: new Date('2027-01-04T08:00:00Z'),
});
const stretch = () => ({
  workspace_slug: slug,
  time_of_generation_min: '2027-01-01T00:00:00Z',
  time_of_generation_max: '2027-01-04T08:00:00Z',
});
/** Fields that the types of the client leave open. */
interface Graph {
  readonly summary: { readonly total: number };
  readonly data_points: readonly unknown[];
}
interface Groups {
  readonly total: number;
  readonly data: readonly Record<string, unknown>[];
}

const days = [1, 2, 3, 4].map((day) => `2027-01-0${day}T00:00:00.000Z`);
const ys = (records: readonly { y: number }[]) => records.map(({ y }) => y);

describe('charts of v2', () => {
  it('returns cents, requests, tokens and latency by day and in total', async () => {
    const cost = (await telemetry.cost(window())).data;
    expect(cost).toMatchObject({ total: 2, avg: 0.5, isQuotaExceeded: false });
    expect(cost.records.map(({ x }) => x)).toEqual(days);
    expect(ys(cost.records)).toEqual([0, 0, 2, 0]);
    const requests = (await telemetry.requests(window())).data;
    expect([requests.total, ys(requests.records)]).toEqual([4, [0, 0, 3, 1]]);
    const tokens = (await telemetry.tokens(window())).data;
    expect(tokens).toMatchObject({ total: 15, total_request_units: 10, total_response_units: 5 });
    const latency = (await telemetry.latency(window())).data;
    expect(latency).toMatchObject({ total: 80, p99: expect.any(Number) });
    expect(latency.records).toHaveLength(2);
    const none = { ...window(), start: new Date('2027-01-04T07:30:00Z'), traceId: 'none' };
    expect((await telemetry.latency(none)).data).toMatchObject({ total: null, p50: null });
  });

  it('returns errors, also by status', async () => {
    const errors = (await telemetry.errors(window())).data;
    expect([errors.total, ys(errors.records)]).toEqual([2, [0, 0, 1, 1]]);
    const trends = (await telemetry.errorTrends(window())).data;
    expect([trends.summary.errorPercent, ys(trends.trend)]).toEqual([50, [0, 0, 100 / 3, 100]]);
    const byStatus = [
      { response_status_code: 429, count: 1 },
      { response_status_code: 500, count: 1 },
    ];
    expect((await telemetry.errorCategoryTrends(window())).data).toMatchObject({
      summary: { totalErrors: 2, totalUniqueErrorCodes: 2 },
      trend: byStatus,
    });
    const grouped = (await telemetry.groupedErrors(window())).data;
    expect(grouped.trend.map(({ y }) => y)).toEqual([[], [], [byStatus[0]], [byStatus[1]]]);
  });

  it('returns users, cache hits and requests saved by retries', async () => {
    const users = (await telemetry.users(window())).data;
    expect([users.total, ys(users.records)]).toEqual([2, [0, 0, 2, 1]]);
    const trends = (await telemetry.userTrends(window())).data;
    expect(trends.summary).toEqual({ total: 4, unique: 2, avg: 2 });
    const { summary } = (await telemetry.cacheSummary(window())).data;
    expect(summary).toEqual({
      cacheHits: 1,
      avgCacheLatency: 20,
      totalRequests: 4,
      cacheSpeedup: 5,
    });
    const hits = (await telemetry.cacheHitTrend(window())).data;
    expect(hits).toMatchObject({ total: 1, summary: { totalCacheHits: 1, hitRate: 25 } });
    const kinds = async () => {
      const { trend } = (await telemetry.cacheHitTrend(window())).data;
      return trend.map(({ simpleHits, semanticHits }) => [simpleHits, semanticHits]);
    };
    const simple = await kinds();
    expect(simple.filter(([hits]) => hits === 1)).toEqual([[1, 0]]);
    const { db } = server.database;
    const mark = (from: string, to: string) =>
      db.updateTable('request_logs').set({ cache_status: to }).where('cache_status', '=', from);
    await mark('HIT', 'SEMANTIC HIT').execute();
    expect(await kinds()).toEqual(simple.map(([hits]) => [0, hits]));
    await mark('SEMANTIC HIT', 'HIT').execute();
    expect((await telemetry.rescuedRetries(window())).data).toMatchObject({
      total: 1,
      retryTotal: 1,
      fallbackTotal: 0,
    });
  });

  it('returns feedback over time, by score and by model', async () => {
    const body = { trace_id: 'order-17', value: 5, weight: 0.5 };
    await server.request('POST', '/v2/feedback', { body });
    expect((await telemetry.feedbackTrend(window())).data.total).toBe(1);
    expect((await telemetry.feedbackWeighted(window())).data.total).toBe(5);
    const scores = (await telemetry.feedbackScoreDistribution(window())).data;
    expect(scores.records).toEqual([{ x: 5, y: 1 }]);
    const models = (await telemetry.feedbackModels(window())).data;
    expect(models.records).toEqual([
      { x: 'gpt-4o', y: { avgWeightedFeedback: 5, feedbackCount: 1 } },
    ]);
  });

  it.each([
    [{ traceId: 'order-17' }, 1],
    [{ traceId: 'none, order-17' }, 1],
    [{ metadata: { team: 'a' } }, 2],
    [{ metadata: { team: 'a,b' } }, 3],
    [{ metadata: { team: 'b', _user: 'anna' } }, 0],
    [{ statusCodes: [429, 500] }, 2],
    [{ apiKeyIds: [otherKeyId] }, 1],
    [{ aiOrgModels: ['anthropic__claude', 'openai__gpt-4o'] }, 4],
    [{ aiOrgModels: ['openai__claude'] }, 0],
    [{ totalUnitsMin: 15, totalUnitsMax: 15 }, 1],
    [{ totalUnitsMax: 0 }, 3],
    [{ costMin: 1.5, costMax: 2 }, 1],
  ])('filters by %j', async (filter, expected) => {
    expect((await telemetry.requests({ ...window(), ...filter })).data.total).toBe(expected);
  });

  it('requires a workspace and the scope', async () => {
    const path = '/v2/logs/charts/requests';
    const unplaced = await server.request('GET', path);
    expect([unplaced.status, unplaced.body.error.code]).toEqual([404, 'AB02']);
    const unknown = await server.request('GET', `/v2/logs/charts/moods?workspaceSlug=${slug}`);
    expect(unknown.status).toBe(400);
    const long = `${path}?workspaceSlug=${slug}&timeOfGenerationMin=2026-06-01T00:00:00Z`;
    expect((await server.request('GET', long)).status).toBe(200);
    expect((await server.request('GET', `${long}&traceId=a`)).status).toBe(200);
    const longer = long.replace('2026-06-01', '2025-06-01');
    expect((await server.request('GET', `${longer}&traceId=a`)).status).toBe(400);
  });
});

describe('groups of v2', () => {
  it('aggregates by common fields, with the requested columns', async () => {
    const models = await telemetry.groupBy('model', { ...window(), columns: ['cost'] });
    expect(models).toMatchObject({ total: 2, is_quota_exceeded: false });
    expect(models.data).toEqual([
      { model: 'gpt-4o', requests: 3, cost: 2, object: 'analytics-group' },
      { model: 'claude', requests: 1, cost: 0, object: 'analytics-group' },
    ]);
    const keys = await telemetry.groupBy('api_key', window());
    expect(keys.data.map((one) => one.api_key)).toEqual([apiKeyId, otherKeyId]);
    const statuses = await telemetry.byStatusCode(window());
    expect(statuses.data.map((one) => one.status_code)).toEqual([200, 429, 500]);
    const users = (await telemetry.byUser(window())).data;
    expect(users.records).toEqual([
      { _user: 'anna', count: 2, cost: 2 },
      { _user: '', count: 1, cost: 0 },
      { _user: 'ben', count: 1, cost: 0 },
    ]);
  });

  it('returns pages', async () => {
    const query = new URLSearchParams({
      workspaceSlug: slug,
      timeOfGenerationMin: stretch().time_of_generation_min,
      pageSize: '1',
      currentPage: '1',
    });
    const { body } = await server.request('GET', `/v2/logs/groups/status_code?${query}`);
    expect(body).toMatchObject({ total: 3, data: [{ status_code: 429 }] });
  });

  it('ends at row ten thousand, so that no page needs a longer scan', async () => {
    for (const path of ['logs', 'logs/groups/status_code', 'logs/groups/users']) {
      const query = new URLSearchParams({
        workspaceSlug: slug,
        timeOfGenerationMin: stretch().time_of_generation_min,
        pageSize: '100',
        currentPage: '100',
      });
      const { status, body } = await server.request('GET', `/v2/${path}?${query}`);
      expect([status, body.error?.message]).toEqual([400, expect.stringContaining('row 10000')]);
      query.set('currentPage', '99');
      expect((await server.request('GET', `/v2/${path}?${query}`)).status).toBe(200);
    }
  });
});

it('returns v2 rows of the workspace, newest first', async () => {
  const { records, total } = (await telemetry.logs({ ...window(), pageSize: 2, currentPage: 1 }))
    .data;
  expect([total, records.map((one) => one.response_status_code)]).toEqual([4, [200, 200]]);
  const [order] = (await telemetry.logs({ ...window(), traceId: 'order-17' })).data.records;
  expect(order).toMatchObject({
    workspace_slug: slug,
    ai_org: 'openai',
    ai_model: 'gpt-4o',
    cost: 2,
    total_units: 15,
    is_success: 1,
    retry_success_count: 1,
    api_key_id: apiKeyId,
    _user: 'anna',
    metadataKey: ['_user', 'team'],
    metadataValue: ['anna', 'a'],
  });
  expect((await telemetry.logs({ ...window(), statusCode: 429 })).data.total).toBe(1);
});

it('returns the filter values that occur in the requests of a workspace', async () => {
  const { data } = await telemetry.filterBoundaries(window());
  expect(data).toMatchObject({
    total_units_min: 0,
    total_units_max: 15,
    cost_min: 0,
    cost_max: 2,
    unique_status_codes: [200, 429, 500],
    unique_metadata_keys: ['_user', 'team'],
    unique_api_keys: [apiKeyId, otherKeyId],
    unique_virtual_keys: ['anthropic', 'openai'],
  });
  expect(data.unique_ai_models).toContainEqual({
    ai_model: 'claude',
    ai_organisation: 'anthropic',
  });
});

describe('graphs of v1', () => {
  const graphs = [
    ['requests', { total: 4 }],
    ['cost', { total: 2, avg: 0.5 }],
    ['tokens', { total: 15, avg: 3.75 }],
    ['latency', { avg: 80 }],
    ['users', { total: 2 }],
    ['usersRequests', { total: 4, unique: 2, avg: 2 }],
    ['errors', { total: 2 }],
    ['errors_rate', { rate: 50 }],
    ['errors_stack', { total: 2 }],
    ['errors_status_code', { total: 2 }],
    ['requests_rescued', { total: 1, retry: 1 }],
    ['cache_hit_rate', { rate: 25, total: 1 }],
    ['cache_latency', { avg: 20, total: 1 }],
  ] as const;

  it.each(graphs)('%s', async (graph, summary) => {
    const reported = (await analytics.graphs[graph](stretch())) as unknown as Graph;
    expect(reported).toMatchObject({ object: 'analytics-graph', summary });
    expect(reported.data_points).toHaveLength(graph === 'errors_status_code' ? 2 : 4);
  });

  it('filters by lists, and includes all workspaces when none is named', async () => {
    const total = async (more: object) =>
      ((await analytics.graphs.requests({ ...stretch(), ...more })) as unknown as Graph).summary
        .total;
    expect(await total({ configs: configSlug })).toBe(1);
    expect(await total({ configs: 'pc-unknown' })).toBe(0);
    expect(await total({ virtual_keys: 'anthropic' })).toBe(1);
    expect(await total({ cache_status: 'hit' })).toBe(1);
    expect(await total({ prompt_token_min: 10, completion_token_max: 5 })).toBe(1);
    expect(await total({ metadata: '{"team":["a","b"]}' })).toBe(3);
    expect(await total({ span_id: 'a' })).toBe(0);
    expect(await total({ workspace_slug: undefined })).toBe(5);
    const day = { time_of_generation_min: '2027-01-03', time_of_generation_max: '2027-01-03' };
    expect(await total(day)).toBe(3);
    await expect(total({ metadata: '["a"]' })).rejects.toMatchObject({ status: 400 });
    await expect(total({ ai_org_model: 'gpt' })).rejects.toMatchObject({ status: 400 });
  });
});

it.each([
  ['ai_service', 'ai_service', ['openai', 'anthropic']],
  ['model', 'model', ['gpt-4o', 'claude']],
  ['status_code', 'status_code', [200, 429, 500]],
  ['api_key', 'api_key', [apiKeyId, otherKeyId]],
  ['provider', 'provider', ['openai', 'anthropic']],
] as const)('groups v1 requests by %s', async (group, field, values) => {
  const requested: unknown = await analytics.groups.groupedData(group, stretch());
  const { data, total } = requested as Groups;
  expect([total, data.map((one) => one[field])]).toEqual([values.length, values]);
});

describe('sorting of v1 groups', () => {
  const models = async (more: object) => {
    const requested: unknown = await analytics.groups.groupedData('model', {
      ...stretch(),
      ...more,
    });
    return (requested as Groups).data.map((one) => one.model);
  };

  it.each([
    [{ order_by: 'cost' }, ['gpt-4o', 'claude']],
    [{ order_by: 'cost', order_by_type: 'asc' }, ['claude', 'gpt-4o']],
    [{ order_by: 'success_rate', order_by_type: 'ASC' }, ['claude', 'gpt-4o']],
    [{ order_by: 'last_seen', order_by_type: 'desc' }, ['gpt-4o', 'claude']],
    [{ order_by: 'avg_latency', order_by_type: 'asc' }, ['gpt-4o', 'claude']],
    [{ order_by: 'model' }, ['gpt-4o', 'claude']],
    [{ order_by: 'model', order_by_type: 'asc' }, ['claude', 'gpt-4o']],
    [{ order_by: 'requests', order_by_type: 'asc', page_size: 1, current_page: 1 }, ['gpt-4o']],
  ])('follows %j', async (order, expected) => {
    expect(await models(order)).toEqual(expected);
  });

  it('supports every column except percentiles, from totals and from the log', async () => {
    for (const order_by of sortingFigures) {
      expect([order_by, (await models({ order_by })).length]).toEqual([order_by, 2]);
      const users: unknown = await analytics.groups.users({ ...stretch(), order_by });
      expect([order_by, (users as Groups).total]).toEqual([order_by, 3]);
    }
    const spent: unknown = await analytics.groups.workspaces({ ...stretch(), order_by: 'cost' });
    expect((spent as Groups).data).toHaveLength(1);
    for (const wrong of [{ order_by: 'p99_latency' }, { order_by: 'cost', order_by_type: 'up' }]) {
      await expect(models(wrong)).rejects.toMatchObject({ status: 400 });
    }
  });
});

it('groups v1 requests by config, user, model, workspace and a metadata value', async () => {
  const values = async (requested: Promise<unknown>, field: string) =>
    ((await requested) as Groups).data.map((one) => [one[field], one.requests]);
  const { groups } = analytics;
  expect(await values(groups.groupedData('config', stretch()), 'config')).toHaveLength(2);
  expect(await values(groups.groupedData('workspace', stretch()), 'workspace_id')).toHaveLength(1);
  expect(await values(groups.users(stretch()), 'user')).toContainEqual(['anna', 2]);
  expect(await values(groups.aiModels(stretch()), 'ai_model')).toContainEqual(['gpt-4o', 3]);
  expect(await values(groups.workspaces(stretch()), 'value')).toHaveLength(1);
  const teams = await values(groups.metadata('team', stretch()), 'metadata_value');
  expect(teams).toEqual([
    ['a', 2],
    [null, 1],
    ['b', 1],
  ]);
  await expect(groups.metadata('a"b', stretch())).rejects.toMatchObject({ status: 400 });
});

it('returns guardrail verdicts in total, over time and by group (1.27.0)', async () => {
  const query = new URLSearchParams(stretch());
  const get = async (path: string) =>
    (await server.request('GET', `/v1/analytics/${path}?${query}`)).body;
  const expectedValue = {
    total: 2,
    passed: 1,
    monitored: 0,
    failed: 0,
    denied: 1,
    failure_rate: 50,
    denial_rate: 50,
  };
  expect(await get('summary/guardrails')).toEqual({
    object: 'analytics-summary',
    summary: { total_requests: 4, ...expectedValue },
  });
  const graph = await get('graphs/guardrails');
  expect(graph.summary).toEqual(expectedValue);
  expect(graph.data_points.map((one: { denied: number }) => one.denied)).toEqual([0, 0, 1, 0]);
  const [gpt, claude] = (await get('groups/model')).data;
  expect([gpt.guardrail_passed, claude.guardrail_denied]).toEqual([1, 1]);
});

it('covers every chart of the client', () => {
  expect(methods.missed()).toEqual([]);
});
