/**
 * HTTP routes for sums over model requests (docs/reference/analytics.md, Logs and analytics): in total, over
 * time, and by group.
 */
import { z } from 'zod';
import type { Principal } from '../../../auth/principal.ts';
import { type Route, route } from '../../../http/routes/route.ts';
import { RequestFigures, totalsStepMs } from '../../../model/logs/request-log.ts';
import { wholeNumberParameter } from '../../../model/wire/paging.ts';
import { formatTimestamp, ResponseTimestamp } from '../../../model/wire/timestamp.ts';
import { type AdminDeps, everyMount } from '../../request/deps.ts';
import { type QueryRequest, WorkspaceQuery } from '../../request/frame-fields.ts';
import { requestLogToFigures } from '../request-log-record.ts';
import {
  ClientGroups,
  clientGroupQuery,
  clientGroups,
  isClientGroup,
  listClientGroup,
  orderOf,
} from './client-groups.ts';
import { filterQuery } from './request-filter.ts';
import { openRequestQueries, type RequestQueries, timeSteps } from './request-queries.ts';
import { rangeDayMs } from './time-range.ts';

const AnalyticsQuery = WorkspaceQuery.extend(filterQuery);
type AnalyticsQuery = z.infer<typeof AnalyticsQuery>;

const intervals = { hour: totalsStepMs, day: rangeDayMs } as const;
const GraphQuery = AnalyticsQuery.extend({ interval: z.enum(['hour', 'day']).default('hour') });

const dimensions = {
  workspaces: 'workspace_id',
  'api-keys': 'api_key_id',
  providers: 'provider',
  models: 'model',
  statuses: 'status',
} as const;
const GroupParams = z.object({
  group: z.enum(['workspaces', 'api-keys', 'providers', 'models', 'statuses', ...clientGroups]),
});
const groupsMax = 100;
const GroupsQuery = AnalyticsQuery.extend({
  ...clientGroupQuery,
  page_size: wholeNumberParameter(1, groupsMax).default(groupsMax),
});

const Stretch = z.object({ from: ResponseTimestamp, to: ResponseTimestamp });
const Point = RequestFigures.extend({ timestamp: ResponseTimestamp });
const Group = RequestFigures.extend({ value: z.union([z.string(), z.int()]).nullable() });

const daysMax = 366;
/** A longer range has daily points, because a year has 8,784 hours. */
const hourlyDaysMax = 31;

export function analyticsRoutes(deps: AdminDeps): Route<Principal>[] {
  const shared = { mounts: everyMount, method: 'GET', scope: 'analytics.view' } as const;
  return [
    route({
      ...shared,
      path: '/analytics/summary',
      summary: 'Sum up model requests',
      query: AnalyticsQuery,
      response: Stretch.extend({
        object: z.literal('analytics-summary'),
        ...RequestFigures.shape,
      }),
      handle: async (request) => {
        const questions = await open(deps, request);
        const figures = requestLogToFigures(await questions.whole());
        return { object: 'analytics-summary' as const, ...stretchOf(questions), ...figures };
      },
    }),
    route({
      ...shared,
      path: '/analytics/graph',
      summary: 'Sum up model requests by hours or days',
      query: GraphQuery,
      response: Stretch.extend({ object: z.literal('analytics-graph'), data: z.array(Point) }),
      handle: (request) => graph(deps, request),
    }),
    route({
      ...shared,
      path: '/analytics/groups/:group',
      summary: 'Sum up model requests by group',
      params: GroupParams,
      query: GroupsQuery,
      response: z.union([
        Stretch.extend({ object: z.literal('list'), data: z.array(Group) }),
        ClientGroups,
      ]),
      handle: async (request) => {
        const { group } = request.params;
        if (isClientGroup(group)) return listClientGroup(deps, request, group);
        const by = dimensions[group];
        const limit = request.query.page_size;
        const questions = await open(deps, request);
        const order = orderOf(request.query, 'value') ?? 'cost';
        const sums = await questions.sum({ by: [by], order, limit });
        const data = sums.map((one) => ({
          value: one.shared[0] ?? null,
          ...requestLogToFigures(one),
        }));
        return { object: 'list' as const, ...stretchOf(questions), data };
      },
    }),
  ];
}

/** One point for each time step, including steps without requests. */
async function graph(deps: AdminDeps, request: QueryRequest<z.infer<typeof GraphQuery>>) {
  const { caller, query, now } = request;
  const questions = await open(deps, { caller, query, now });
  const { from, to } = questions.range;
  const isLong = to - from > (hourlyDaysMax + 1) * rangeDayMs;
  const stepMs = intervals[isLong ? 'day' : query.interval];
  const days = isLong || query.interval === 'day' ? daysMax : hourlyDaysMax + 1;
  const limit = Math.ceil((days * rangeDayMs) / stepMs) + 2;
  const sums = await questions.sum({ by: [{ stepMs }], limit });
  const sumsByTime = new Map(sums.map((one) => [Number(one.shared[0]), one]));
  const data = timeSteps({ ...questions, stepMs }, sumsByTime).map(({ at, sums: stepSums }) => ({
    timestamp: formatTimestamp(at),
    ...requestLogToFigures(stepSums),
  }));
  return { object: 'analytics-graph' as const, ...stretchOf(questions), data };
}

/** A caller bound to one workspace sees only that one, whichever it names. */
function open(
  deps: AdminDeps,
  request: Pick<QueryRequest<AnalyticsQuery>, 'caller' | 'query' | 'now'>,
): Promise<RequestQueries> {
  return openRequestQueries(deps, request, request.query, 'may be left out');
}

function stretchOf({ timeRange: { from, to } }: RequestQueries) {
  return { from: formatTimestamp(from), to: formatTimestamp(to) };
}
