/** Knows graphs of requests over HTTP (docs/reference/analytics.md, Graphs and groups): one figure along time, and for all of it. */
import { z } from 'zod';
import type { Principal } from '../../../auth/principal.ts';
import { type Route, route } from '../../../http/routes/route.ts';
import { formatTimestamp, ResponseTimestamp } from '../../../model/wire/timestamp.ts';
import { validationError } from '../../../model/wire/validation-error.ts';
import type { SharedSums } from '../../../store/logs/request-sums.ts';
import { type AdminDeps, everyMount } from '../../request/deps.ts';
import { type QueryRequest, WorkspaceQuery } from '../../request/frame-fields.ts';
import { feedbackGraphs } from './feedback-figures.ts';
import { filterQuery } from './request-filter.ts';
import {
  byStatusOf,
  errorsAlong,
  nothingLike,
  openQuestions,
  pieces,
  type Questions,
  summarizeCache,
} from './request-question.ts';
import {
  averageOf,
  centsOf,
  countsByProtocol,
  errorsByProtocol,
  guardrailFigures,
  percentileOf,
  shareOf,
  tokensOf,
  unitsByProtocol,
} from './sums-figures.ts';

const GraphQuery = WorkspaceQuery.extend(filterQuery);
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
    ...{ hits: z.int(), avg_latency: z.number().nullable() },
    ...{ total_requests: z.int(), cache_speedup: z.number() },
  }),
});

const GuardrailSummary = z.object({
  object: z.literal('analytics-summary'),
  summary: z.object({
    ...{ total_requests: z.int(), total: z.int(), passed: z.int(), failed: z.int() },
    ...{ denied: z.int(), failure_rate: z.number(), denial_rate: z.number() },
  }),
});

/** What one graph tells of some requests. */
interface Drawing {
  readonly tell: (sums: SharedSums) => Record<string, number | null>;
  /** What the summary tells beside that. */
  readonly alsoTell?: (sums: SharedSums) => Record<string, number>;
  readonly asksLog?: boolean;
  /** Only of requests that the cache answered. */
  readonly isOfHits?: boolean;
}

const drawings: Readonly<Record<string, Drawing>> = {
  requests: {
    tell: ({ requests, errors }) => ({
      ...{ total: requests, success: requests - errors, failed: errors },
      ...countsByProtocol(requests),
    }),
  },
  cost: { tell: (sums) => ({ total: centsOf(sums), avg: averageOf(centsOf(sums), sums) }) },
  tokens: {
    tell: (sums) => ({
      ...{ total: tokensOf(sums), avg: averageOf(tokensOf(sums), sums) },
      ...{ prompt: sums.input_tokens, completion: sums.output_tokens },
      ...unitsByProtocol(sums),
    }),
  },
  latency: {
    tell: (sums) => ({
      avg: averageOf(sums.duration_ms, sums),
      p50: percentileOf(0.5, sums),
      p90: percentileOf(0.9, sums),
      p99: percentileOf(0.99, sums),
    }),
  },
  errors: { tell: ({ errors }) => ({ total: errors, ...errorsByProtocol(errors) }) },
  'errors-rate': { tell: (sums) => ({ rate: shareOf(sums.errors, sums) }) },
  'cache-hit-rate': {
    tell: (sums) => ({
      ...{ rate: shareOf(sums.cache_hits, sums), total: sums.cache_hits },
      ...{ hits: sums.cache_hits, misses: sums.requests - sums.cache_hits },
    }),
    alsoTell: ({ requests, cache_hits }) => ({
      ...{ total_hits: cache_hits, total_misses: requests - cache_hits },
    }),
  },
  'cache-latency': {
    tell: (sums) => ({ avg: averageOf(sums.duration_ms, sums), total: sums.requests }),
    isOfHits: true,
  },
  users: {
    tell: ({ users }) => ({ total: users, active_users: users }),
    alsoTell: ({ users }) => ({ total_active_users: users }),
    asksLog: true,
  },
  'users-requests': {
    tell: ({ requests, users }) => ({
      ...{ total: requests, unique: users, avg: users === 0 ? null : requests / users },
    }),
    asksLog: true,
  },
  guardrails: { tell: guardrailFigures },
  'requests-rescued': {
    tell: ({ retried }) => ({ total: retried, retry: retried }),
    asksLog: true,
  },
};

/** Names of the two graphs that tell statuses apart, as clients write them. */
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
      summary: 'Draw a figure of requests along time',
      params: GraphParams,
      handle: (request) => draw(deps, request, request.params.graph),
    }),
    route({
      ...shared,
      path: '/analytics/graphs/:graph/:part',
      summary: 'Draw a figure of requests along time, by its longer name',
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
      summary: 'Tell what the cache has answered, and how much sooner',
      response: CacheSummary,
      handle: async (request) => {
        const questions = await openQuestions(deps, request, request.query, 'may be left out');
        const { hits, latency, total, speedup } = await summarizeCache(questions);
        const told = { hits, avg_latency: latency, total_requests: total };
        return {
          object: 'analytics-summary' as const,
          summary: { ...told, cache_speedup: speedup },
        };
      },
    }),
    route({
      ...shared,
      path: '/analytics/summary/guardrails',
      summary: 'Tell what guardrails have said',
      response: GuardrailSummary,
      handle: async (request) => {
        const questions = await openQuestions(deps, request, request.query, 'may be left out');
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
    const known = Object.keys({ ...drawings, ...feedbackGraphs })
      .concat(byStatus)
      .join(', ');
    throw validationError({ path: ['graph'], message: `must be one of ${known}` });
  }
  const query =
    drawing?.isOfHits === true ? { ...request.query, cache_status: ['HIT'] } : request.query;
  const questions = await openQuestions(deps, request, query, 'may be left out');
  const drawn = () =>
    drawing === undefined ? drawStatuses(questions, name) : drawAlong(questions, drawing);
  const told = await (ofFeedback?.(questions) ?? drawn());
  return { object: 'analytics-graph', ...told };
}

async function drawAlong(questions: Questions, { tell, alsoTell, asksLog = false }: Drawing) {
  const { stepMs } = questions;
  const sums = await questions.ask({ asksLog, by: [{ stepMs }] });
  const found = new Map(sums.map((one) => [Number(one.shared[0]), one]));
  const whole = await questions.whole({ asksLog });
  return {
    summary: { ...tell(whole), ...alsoTell?.(whole) },
    data_points: pieces(questions, found).map(({ at, sums: of }) => ({
      timestamp: formatTimestamp(at),
      ...tell(of ?? nothingLike(whole)),
    })),
  };
}

async function drawStatuses(questions: Questions, name: string) {
  const along = await errorsAlong(questions);
  const all = byStatusOf(along);
  const summary = { total: all.reduce((sum, { count }) => sum + count, 0) };
  if (name.includes('status')) {
    const data_points = all.map(({ status, count }) => ({ status_code: status, count }));
    return { summary, data_points };
  }
  const data_points = pieces(questions, along).map(({ at, sums }) => ({
    timestamp: formatTimestamp(at),
    stats: (sums ?? []).map(({ status, count }) => ({ response_status_code: status, count })),
  }));
  return { summary, data_points };
}
