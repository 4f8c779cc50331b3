/**
 * HTTP routes for graphs of requests (docs/reference/analytics.md, Graphs and groups): one figure over time
 * and in total.
 */

import { z } from 'zod';
import type { Principal } from '../../../auth/principal.ts';
import { type Route, route } from '../../../http/routes/route.ts';
import { cacheHits } from '../../../model/logs/request-log.ts';
import { formatTimestamp, ResponseTimestamp } from '../../../model/wire/timestamp.ts';
import { validationError } from '../../../model/wire/validation-error.ts';
import type { RequestSums } from '../../../store/logs/request-sums.ts';
import { type AdminDeps, everyMount } from '../../request/deps.ts';
import { type QueryRequest, WorkspaceQuery } from '../../request/frame-fields.ts';
import { PlacedGroupQuery } from './client-groups.ts';
import { feedbackGraphs } from './feedback-figures.ts';
import { filterQuery } from './request-filter.ts';
import {
  byStatusOf,
  errorsAlong,
  openRequestQueries,
  type RequestQueries,
  summarizeCache,
  timeSteps,
  zeroSums,
} from './request-queries.ts';
import {
  averageOf,
  averageOfModels,
  centsOf,
  countsByProtocol,
  errorsByProtocol,
  guardrailFigures,
  hitRateOf,
  modelRequestsOf,
  percentileOf,
  shareOf,
  tokensOf,
  unitsByProtocol,
} from './sums-figures.ts';

/** Clients send the fields of pages and orders with every analytics query; a graph has neither. */
const GraphQuery = WorkspaceQuery.extend(filterQuery).extend({
  page_size: PlacedGroupQuery.shape.page_size.optional(),
  current_page: PlacedGroupQuery.shape.current_page.optional(),
  order_by: PlacedGroupQuery.shape.order_by,
  order_by_type: PlacedGroupQuery.shape.order_by_type.optional(),
});
const GraphParams = z.object({ graph: z.string().max(64) });
const PartParams = GraphParams.extend({ part: z.string().max(64) });
const figures = z.record(z.string(), z.number().nullable());
const Point = z
  .object({ timestamp: ResponseTimestamp.optional(), status_code: z.int().optional() })
  .catchall(z.unknown());
const Graph = z.object({
  object: z.literal('analytics-graph'),
  summary: figures,
  data_points: z.array(Point),
});

const CacheSummary = z.object({
  object: z.literal('analytics-summary'),
  summary: z.object({
    hits: z.int(),
    avg_latency: z.number().nullable(),
    total_requests: z.int(),
    cache_speedup: z.number(),
  }),
});

const GuardrailSummary = z.object({
  object: z.literal('analytics-summary'),
  summary: z.object({
    total_requests: z.int(),
    total: z.int(),
    passed: z.int(),
    monitored: z.int(),
    failed: z.int(),
    denied: z.int(),
    failure_rate: z.number(),
    denial_rate: z.number(),
  }),
});

/** Computes the figures of one graph. */
interface GraphDefinition {
  readonly figuresOf: (sums: RequestSums) => Record<string, number | null>;
  /** Further figures of the summary. */
  readonly summaryFiguresOf?: (sums: RequestSums) => Record<string, number>;
  readonly usesLog?: boolean;
  /** Whether only requests answered from the cache count. */
  readonly isOfHits?: boolean;
}

const drawings: Readonly<Record<string, GraphDefinition>> = {
  requests: {
    figuresOf: (sums) => ({
      total: sums.requests,
      success: sums.requests - sums.errors,
      failed: sums.errors,
      ...countsByProtocol(sums),
    }),
  },
  cost: {
    figuresOf: (sums) => ({ total: centsOf(sums), avg: averageOfModels(centsOf(sums), sums) }),
  },
  tokens: {
    figuresOf: (sums) => ({
      total: tokensOf(sums),
      avg: averageOfModels(tokensOf(sums), sums),
      prompt: sums.input_tokens,
      completion: sums.output_tokens,
      ...unitsByProtocol(sums),
    }),
  },
  latency: {
    figuresOf: (sums) => ({
      avg: averageOf(sums.duration_ms, sums),
      p50: percentileOf(0.5, sums),
      p90: percentileOf(0.9, sums),
      p99: percentileOf(0.99, sums),
    }),
  },
  errors: { figuresOf: (sums) => ({ total: sums.errors, ...errorsByProtocol(sums) }) },
  'errors-rate': { figuresOf: (sums) => ({ rate: shareOf(sums.errors, sums) }) },
  'cache-hit-rate': {
    figuresOf: (sums) => ({
      rate: hitRateOf(sums),
      total: sums.cache_hits,
      hits: sums.cache_hits,
      misses: modelRequestsOf(sums) - sums.cache_hits,
    }),
    summaryFiguresOf: (sums) => ({
      total_hits: sums.cache_hits,
      total_misses: modelRequestsOf(sums) - sums.cache_hits,
    }),
  },
  'cache-latency': {
    figuresOf: (sums) => ({ avg: averageOf(sums.duration_ms, sums), total: sums.requests }),
    isOfHits: true,
  },
  users: {
    figuresOf: ({ users }) => ({ total: users, active_users: users }),
    summaryFiguresOf: ({ users }) => ({ total_active_users: users }),
    usesLog: true,
  },
  'users-requests': {
    figuresOf: ({ requests, users }) => ({
      total: requests,
      unique: users,
      avg: users === 0 ? null : requests / users,
    }),
    usesLog: true,
  },
  guardrails: { figuresOf: guardrailFigures },
  'requests-rescued': {
    figuresOf: ({ retried }) => ({ total: retried, retry: retried }),
    usesLog: true,
  },
};

/** Names, as clients write them, of the two graphs that count by status. */
const byStatus = ['errors-stack', 'errors-stacks', 'errors-status-code', 'errors-status-codes'];

export function graphRoutes(deps: AdminDeps): Route<Principal>[] {
  const shared = {
    mounts: everyMount,
    method: 'GET',
    scope: 'analytics.view',
    query: GraphQuery,
    response: Graph,
  } as const;
  return [
    route({
      ...shared,
      path: '/analytics/graphs/:graph',
      summary: 'Get a graph of requests over time',
      params: GraphParams,
      handle: (request) => draw(deps, request, request.params.graph),
    }),
    route({
      ...shared,
      path: '/analytics/graphs/:graph/:part',
      summary: 'Get a graph of requests over time, by its longer name',
      params: PartParams,
      handle: (request) => draw(deps, request, `${request.params.graph}-${request.params.part}`),
    }),
    ...summaryRoutes(deps),
  ];
}

function summaryRoutes(deps: AdminDeps): Route<Principal>[] {
  const shared = {
    mounts: everyMount,
    method: 'GET',
    scope: 'analytics.view',
    query: GraphQuery,
  } as const;
  return [
    route({
      ...shared,
      path: '/analytics/summary/cache',
      summary: 'Get the cache hits and the time they saved',
      response: CacheSummary,
      handle: async (request) => {
        const questions = await openRequestQueries(deps, request, request.query, 'may be left out');
        const { hits, latency, total, speedup } = await summarizeCache(questions);
        const cache = { hits, avg_latency: latency, total_requests: total };
        return {
          object: 'analytics-summary' as const,
          summary: { ...cache, cache_speedup: speedup },
        };
      },
    }),
    route({
      ...shared,
      path: '/analytics/summary/guardrails',
      summary: 'Get the verdicts of guardrails',
      response: GuardrailSummary,
      handle: async (request) => {
        const questions = await openRequestQueries(deps, request, request.query, 'may be left out');
        const whole = await questions.whole();
        return {
          object: 'analytics-summary' as const,
          summary: { total_requests: whole.requests, ...guardrailFigures(whole) },
        };
      },
    }),
  ];
}

async function draw(
  deps: AdminDeps,
  request: QueryRequest<z.infer<typeof GraphQuery>>,
  name: string,
): Promise<z.infer<typeof Graph>> {
  const drawing = Object.hasOwn(drawings, name) ? drawings[name] : undefined;
  const ofFeedback = Object.hasOwn(feedbackGraphs, name) ? feedbackGraphs[name] : undefined;
  if (drawing === undefined && ofFeedback === undefined && !byStatus.includes(name)) {
    const graphs = Object.keys({ ...drawings, ...feedbackGraphs })
      .concat(byStatus)
      .join(', ');
    throw validationError({ path: ['graph'], message: `must be one of ${graphs}` });
  }
  const query =
    drawing?.isOfHits === true ? { ...request.query, cache_status: [...cacheHits] } : request.query;
  const questions = await openRequestQueries(deps, request, query, 'may be left out');
  const drawDefault = () =>
    drawing === undefined ? drawStatuses(questions, name) : drawAlong(questions, drawing);
  const graph = await (ofFeedback?.(questions) ?? drawDefault());
  return { object: 'analytics-graph', ...graph };
}

async function drawAlong(
  questions: RequestQueries,
  { figuresOf, summaryFiguresOf, usesLog = false }: GraphDefinition,
) {
  const { stepMs } = questions;
  const sums = await questions.sum({ usesLog, by: [{ stepMs }] });
  const sumsByTime = new Map(sums.map((one) => [Number(one.shared[0]), one]));
  const whole = await questions.whole({ usesLog });
  return {
    summary: { ...figuresOf(whole), ...summaryFiguresOf?.(whole) },
    data_points: timeSteps(questions, sumsByTime).map(({ at, sums: stepSums }) => ({
      timestamp: formatTimestamp(at),
      ...figuresOf(stepSums ?? zeroSums(whole)),
    })),
  };
}

async function drawStatuses(questions: RequestQueries, name: string) {
  const along = await errorsAlong(questions);
  const all = byStatusOf(along);
  const summary = { total: all.reduce((sum, { count }) => sum + count, 0) };
  if (name.includes('status')) {
    const data_points = all.map(({ status, count }) => ({ status_code: status, count }));
    return { summary, data_points };
  }
  const data_points = timeSteps(questions, along).map(({ at, sums }) => ({
    timestamp: formatTimestamp(at),
    stats: (sums ?? []).map(({ status, count }) => ({ response_status_code: status, count })),
  }));
  return { summary, data_points };
}
