/** Knows sums over requests for models over HTTP (docs/api.md, Logs and analytics): of all, along time, and by what they share. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/route.ts';
import { wholeNumber } from '../../model/paging.ts';
import { RequestFigures, totalsStepMs, totalsStepOf } from '../../model/request-log.ts';
import { AnsweredTimestamp, formatTimestamp } from '../../model/timestamp.ts';
import * as requestTotals from '../../store/tables/request-totals.ts';
import { type AdminDeps, everyMount } from '../request/deps.ts';
import { type QueryRequest, WorkspaceQuery } from '../request/frame-fields.ts';
import { resolveWorkspace } from '../request/scoping.ts';
import { requireRight, visibleKeys } from '../request/visibility.ts';
import { dayMs, type Range, rangeOf, rangeQuery } from './range.ts';
import { toFigures } from './request-log-record.ts';

const text = z.string().min(1).max(255).optional();
const AnalyticsQuery = WorkspaceQuery.extend({
  ...rangeQuery,
  ...{ api_key_id: z.uuid().optional(), provider: text, model: text },
});
type AnalyticsQuery = z.infer<typeof AnalyticsQuery>;

const intervals = { hour: totalsStepMs, day: dayMs } as const;
const GraphQuery = AnalyticsQuery.extend({ interval: z.enum(['hour', 'day']).default('hour') });

const dimensions = {
  workspaces: 'workspace_id',
  'api-keys': 'api_key_id',
  providers: 'provider',
  models: 'model',
  statuses: 'status',
} as const;
const GroupParams = z.object({
  group: z.enum(['workspaces', 'api-keys', 'providers', 'models', 'statuses']),
});
const groupsMax = 100;
const GroupsQuery = AnalyticsQuery.extend({
  page_size: wholeNumber(1, groupsMax).default(groupsMax),
});

const Stretch = z.object({ from: AnsweredTimestamp, to: AnsweredTimestamp });
const Point = RequestFigures.extend({ timestamp: AnsweredTimestamp });
const Group = RequestFigures.extend({ value: z.union([z.string(), z.int()]).nullable() });

/** Of totals by the hour, a year has 8,784 for each thing that requests have in common. */
const daysMax = 366;
const hourlyDaysMax = 31;

export function analyticsRoutes(deps: AdminDeps): Route<Principal>[] {
  const shared = { mounts: everyMount, method: 'GET', scope: 'analytics.view' } as const;
  return [
    route({
      ...shared,
      path: '/analytics/summary',
      summary: 'Sum up requests for models',
      query: AnalyticsQuery,
      response: Stretch.extend({
        object: z.literal('analytics-summary'),
        ...RequestFigures.shape,
      }),
      handle: async (request) => {
        const { sums, stretch } = await ask(deps, request, { by: null, daysMax, limit: 1 });
        return { object: 'analytics-summary' as const, ...stretch, ...toFigures(sums[0]) };
      },
    }),
    route({
      ...shared,
      path: '/analytics/graph',
      summary: 'Sum up requests for models by hours or days',
      query: GraphQuery,
      response: Stretch.extend({ object: z.literal('analytics-graph'), data: z.array(Point) }),
      handle: (request) => graph(deps, request),
    }),
    route({
      ...shared,
      path: '/analytics/groups/:group',
      summary: 'Sum up requests for models by what they share',
      params: GroupParams,
      query: GroupsQuery,
      response: Stretch.extend({ object: z.literal('list'), data: z.array(Group) }),
      handle: async (request) => {
        const by = dimensions[request.params.group];
        const limit = request.query.page_size;
        const { sums, stretch } = await ask(deps, request, { by, daysMax, limit });
        const data = sums.map((one) => ({ value: one.shared, ...toFigures(one) }));
        return { object: 'list' as const, ...stretch, data };
      },
    }),
  ];
}

/** A point for each piece of time, those without requests too. */
async function graph(deps: AdminDeps, request: QueryRequest<z.infer<typeof GraphQuery>>) {
  const stepMs = intervals[request.query.interval];
  const days = request.query.interval === 'hour' ? hourlyDaysMax : daysMax;
  const limit = Math.ceil((days * dayMs) / stepMs) + 2;
  const asked = await ask(deps, request, { by: { stepMs }, daysMax: days, limit });
  const found = new Map(asked.sums.map((one) => [Number(one.shared), one]));
  const data = [];
  const { from, to } = asked.range;
  for (let at = from - (from % stepMs); at <= to; at += stepMs) {
    data.push({ timestamp: formatTimestamp(at), ...toFigures(found.get(at)) });
  }
  return { object: 'analytics-graph' as const, ...asked.stretch, data };
}

interface Question {
  readonly by: requestTotals.SumsBy;
  readonly daysMax: number;
  readonly limit: number;
}

/** What a caller of one workspace asks is about that one, whatever it names. */
async function ask(
  { database }: AdminDeps,
  { caller, query, now }: Pick<QueryRequest<AnalyticsQuery>, 'caller' | 'query' | 'now'>,
  question: Question,
) {
  const db = database.readable;
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  await requireRight(db, caller, workspace, 'ViewAnalytics');
  const apiKeyIds = await visibleKeys(db, caller, workspace);
  const { from, to }: Range = rangeOf(query, now, question.daysMax);
  const range = { from: totalsStepOf(from), to: totalsStepOf(to) };
  const { api_key_id, provider, model } = query;
  const equal = {
    ...{ workspace_id: workspace?.id, api_key_id: api_key_id?.toLowerCase() },
    ...{ provider, model },
  };
  const sums = await requestTotals.sum(
    db,
    caller.organisationId,
    { ...range, equal, apiKeyIds },
    question.by,
    question.limit,
  );
  const end = formatTimestamp(range.to + totalsStepMs);
  return { sums, range, stretch: { from: formatTimestamp(range.from), to: end } };
}
