/** HTTP route for charts of requests in the v2 format (docs/reference/analytics.md, Graphs and groups). */
import { z } from 'zod';
import type { Principal } from '../../../auth/principal.ts';
import { type Route, route } from '../../../http/routes/route.ts';
import { formatTimestamp } from '../../../model/wire/timestamp.ts';
import { validationError } from '../../../model/wire/validation-error.ts';
import type { RequestSums } from '../../../store/logs/request-sums.ts';
import type { AdminDeps } from '../../request/deps.ts';
import { feedbackCharts } from '../analytics/feedback-figures.ts';
import {
  byStatusOf,
  errorsAlong,
  openRequestQueries,
  type RequestQueries,
  summarizeCache,
  timeSteps,
  zeroSums,
} from '../analytics/request-queries.ts';
import {
  averageOf,
  averageOfModels,
  centsOf,
  countsByProtocol,
  errorsByProtocol,
  hitRateOf,
  percentileOf,
  shareOf,
  tokensOf,
  unitsByProtocol,
} from '../analytics/sums-figures.ts';
import { plainQuery, TelemetryQuery } from './telemetry-query.ts';

const ChartParams = z.object({ chart: z.string().max(64) });
const Chart = z.object({
  success: z.literal(true),
  data: z.object({ isQuotaExceeded: z.literal(false) }).catchall(z.unknown()),
});

type ChartData = Record<string, unknown>;
type Draw = (questions: RequestQueries) => Promise<ChartData>;

export function telemetryChartRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: { v2: ['access-token', 'session'] },
      method: 'GET',
      path: '/logs/charts/:chart',
      scope: 'analytics.view',
      summary: 'Get a chart of the requests of a workspace',
      params: ChartParams,
      query: TelemetryQuery,
      response: Chart,
      refusals: ['unplaced'],
      handle: async (request) => {
        const { chart } = request.params;
        const draw = Object.hasOwn(charts, chart) ? charts[chart] : undefined;
        if (draw === undefined) {
          const message = `must be one of ${Object.keys(charts).join(', ')}`;
          throw validationError({ path: ['chart'], message });
        }
        const query = plainQuery(request);
        const questions = await openRequestQueries(deps, request, query, 'must be named');
        const data = { ...(await draw(questions)), isQuotaExceeded: false as const };
        return { success: true as const, data };
      },
    }),
  ];
}

interface Point {
  readonly x: string;
  readonly sums: RequestSums;
}

/** Sums of the whole time range and of each step. */
async function sumsOverTime(questions: RequestQueries, usesLog = false) {
  const { stepMs } = questions;
  const sums = await questions.sum({ usesLog, by: [{ stepMs }] });
  const sumsByTime = new Map(sums.map((one) => [Number(one.shared[0]), one]));
  const whole = await questions.whole({ usesLog });
  const points = timeSteps(questions, sumsByTime).map(({ at, sums: stepSums }): Point => {
    return { x: formatTimestamp(at), sums: stepSums ?? zeroSums(whole) };
  });
  return { whole, points };
}

const cost: Draw = async (questions) => {
  const { whole, points } = await sumsOverTime(questions);
  const averages = (sums: RequestSums) => ({ avg: averageOfModels(centsOf(sums), sums) ?? 0 });
  return {
    records: points.map(({ x, sums }) => ({ x, y: centsOf(sums), ...averages(sums) })),
    total: centsOf(whole),
    ...averages(whole),
  };
};

/** Figures of the whole range, under the names that clients expect. */
function totals(figures: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(figures).map(([name, figure]) => [`total_${name}`, figure]),
  );
}

const requests: Draw = async (questions) => {
  const { whole, points } = await sumsOverTime(questions);
  const records = points.map(({ x, sums }) => {
    return { x, y: sums.requests, ...countsByProtocol(sums) };
  });
  return { records, total: whole.requests, ...totals(countsByProtocol(whole)) };
};

const errors: Draw = async (questions) => {
  const { whole, points } = await sumsOverTime(questions);
  const records = points.map(({ x, sums }) => {
    return { x, y: sums.errors, ...errorsByProtocol(sums) };
  });
  return { records, total: whole.errors, ...totals(errorsByProtocol(whole)) };
};

const percentiles = (sums: RequestSums) => ({
  p50: percentileOf(0.5, sums),
  p90: percentileOf(0.9, sums),
  p99: percentileOf(0.99, sums),
});

/** Steps without requests have no latency and are left out. */
const latency: Draw = async (questions) => {
  const { whole, points } = await sumsOverTime(questions);
  const some = points.filter(({ sums }) => sums.requests > 0);
  return {
    records: some.map(({ x, sums }) => {
      return { x, y: averageOf(sums.duration_ms, sums), ...percentiles(sums) };
    }),
    total: averageOf(whole.duration_ms, whole),
    ...percentiles(whole),
  };
};

const tokens: Draw = async (questions) => {
  const { whole, points } = await sumsOverTime(questions);
  const averages = (sums: RequestSums) => ({
    avg: averageOfModels(tokensOf(sums), sums) ?? 0,
    total_request_units: sums.input_tokens,
    total_response_units: sums.output_tokens,
  });
  return {
    records: points.map(({ x, sums }) => {
      return { x, y: tokensOf(sums), ...averages(sums), ...unitsByProtocol(sums) };
    }),
    total: tokensOf(whole),
    ...averages(whole),
    ...totals(unitsByProtocol(whole)),
  };
};

const users: Draw = async (questions) => {
  const { whole, points } = await sumsOverTime(questions, true);
  return { records: points.map(({ x, sums }) => ({ x, y: sums.users })), total: whole.users };
};

const userTrends: Draw = async (questions) => {
  const { whole, points } = await sumsOverTime(questions, true);
  const avg = whole.users === 0 ? 0 : whole.requests / whole.users;
  return {
    summary: { total: whole.requests, unique: whole.users, avg },
    trend: points.map(({ x, sums }) => ({ x, y: sums.requests })),
  };
};

const errorTrends: Draw = async (questions) => {
  const { whole, points } = await sumsOverTime(questions);
  return {
    summary: { errorPercent: shareOf(whole.errors, whole) },
    trend: points.map(({ x, sums }) => ({ x, y: shareOf(sums.errors, sums) })),
  };
};

const errorCategoryTrends: Draw = async (questions) => {
  const all = byStatusOf(await errorsAlong(questions));
  const totalErrors = all.reduce((sum, { count }) => sum + count, 0);
  return {
    summary: { totalErrors, totalUniqueErrorCodes: all.length },
    trend: all.map(({ status, count }) => ({ response_status_code: status, count })),
  };
};

const groupedErrors: Draw = async (questions) => {
  const errorsByTime = await errorsAlong(questions);
  const total = byStatusOf(errorsByTime).reduce((sum, { count }) => sum + count, 0);
  const trend = timeSteps(questions, errorsByTime).map(({ at, sums = [] }) => ({
    x: formatTimestamp(at),
    y: sums.map(({ status, count }) => ({ response_status_code: status, count })),
  }));
  return { trend, total };
};

const cacheSummary: Draw = async (questions) => {
  const { hits, latency, total, speedup } = await summarizeCache(questions);
  return {
    summary: {
      cacheHits: hits,
      avgCacheLatency: latency,
      totalRequests: total,
      cacheSpeedup: speedup,
    },
  };
};

/** The cost that hits save is not computed. */
const cacheHitTrend: Draw = async (questions) => {
  const { whole, points } = await sumsOverTime(questions);
  const semantic = new Map(
    (await questions.semanticHits()).map(({ shared, cache_hits: hits }) => [
      formatTimestamp(Number(shared[0])),
      hits,
    ]),
  );
  const saved = { cumulativeSimpleHitSavings: 0, cumulativeSemanticHitSavings: 0 };
  const trend = points.map(({ x, sums }) => ({
    x,
    simpleHits: Math.max(0, sums.cache_hits - (semantic.get(x) ?? 0)),
    semanticHits: semantic.get(x) ?? 0,
    hitRate: hitRateOf(sums),
    ...saved,
  }));
  const hitRate = hitRateOf(whole);
  return {
    trend,
    total: whole.cache_hits,
    summary: { totalCacheHits: whole.cache_hits, hitRate },
  };
};

/** Fallbacks are not counted here, because they cannot be told from load balancing. */
const rescuedRetries: Draw = async (questions) => {
  const { whole, points } = await sumsOverTime(questions, true);
  const retries = points.map(({ x, sums }) => ({ x, retry: sums.retried }));
  return {
    trend: retries.map(({ x, retry }) => ({ x, y: retry > 0 ? [{ retry }] : [] })),
    total: whole.retried,
    trends: retries.map(({ x, retry }) => ({
      x,
      retry: retry > 0 ? [{ count: retry }] : [],
      fallback: [],
    })),
    retryTotal: whole.retried,
    fallbackTotal: 0,
  };
};

const charts: Readonly<Record<string, Draw>> = {
  cost,
  requests,
  latency,
  tokens,
  errors,
  users,
  'cache-summary': cacheSummary,
  'cache-hit-trend': cacheHitTrend,
  'user-trends': userTrends,
  'error-trends': errorTrends,
  'error-category-trends': errorCategoryTrends,
  'grouped-errors': groupedErrors,
  'rescued-retries': rescuedRetries,
  ...feedbackCharts,
};
