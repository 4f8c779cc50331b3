/** Runs the queries behind all analytics routes, with the same limits and access checks on every mount. */

import { cacheHits, startOfTotalsStep, totalsStepMs } from '../../../model/logs/request-log.ts';
import { ApiError } from '../../../model/wire/errors.ts';
import type { Page } from '../../../model/wire/paging.ts';
import { validationError } from '../../../model/wire/validation-error.ts';
import { type FeedbackSums, sumFeedback } from '../../../store/logs/feedback-sums.ts';
import { listMatchingRows, listMetadataKeys } from '../../../store/logs/matching-rows.ts';
import type { RequestLogRow } from '../../../store/logs/request-logs.ts';
import { sumPage } from '../../../store/logs/request-sum-pages.ts';
import * as requestSums from '../../../store/logs/request-sums.ts';
import type { StoredWorkspace } from '../../../store/resources/workspaces.ts';
import { requireRight, visibleKeys } from '../../access/visibility.ts';
import type { AdminDeps, AdminRequest } from '../../request/deps.ts';
import { resolveWorkspace } from '../../request/scoping.ts';
import { anyOfLog, bothOf, type FilterQuery, filterOf } from './request-filter.ts';
import { averageOf } from './sums-figures.ts';
import { parseTimeRange, type Range, rangeDayMs } from './time-range.ts';

const rangeDaysMax = 366;
/** Longer ranges use daily steps. */
const hourlyMs = 2 * rangeDayMs;
const stepsMax = 400;
const keySetsMax = 1000;
const feedbackSumsMax = 10_000;
/** Later pages would have to be read from the first row on; clients request shorter ranges instead. */
const pagedRowsMax = 10_000;

type QueryRequestParts = Pick<AdminRequest, 'caller' | 'now'>;
type SumsRequest = Pick<requestSums.SumsQuery, 'by'> & Partial<requestSums.SumsQuery>;

/** Queries about the requests of one time range that the caller may see. */
export interface RequestQueries {
  readonly workspace: StoredWorkspace | null;
  readonly range: Range;
  /** Time range of the results: whole hours when totals are used. */
  readonly timeRange: Range;
  /** Length of the time steps. */
  readonly stepMs: number;
  readonly filter: requestSums.SumsFilter;
  /** Sums of all requests; zeros without requests. */
  readonly whole: (more?: Partial<SumsRequest>) => Promise<requestSums.RequestSums>;
  /** Sums of the requests answered from the cache. */
  readonly wholeOfHits: () => Promise<requestSums.RequestSums>;
  /** Sums of the requests answered from the semantic cache, for each time step that has some. */
  readonly semanticHits: () => Promise<requestSums.RequestSums[]>;
  readonly sum: (sought: SumsRequest) => Promise<requestSums.RequestSums[]>;
  readonly count: (sought: SumsRequest) => Promise<number>;
  /** Feedback on the responses. */
  readonly sumFeedback: (
    by: readonly requestSums.SumsKey[],
    byValue?: boolean,
  ) => Promise<FeedbackSums[]>;
  /** Metadata keys. */
  readonly keys: () => Promise<string[]>;
  /** Rows of the log, newest first. */
  readonly rows: (page: Page) => Promise<RequestLogRow[]>;
}

/** Whether a query without a workspace covers the whole organisation or is refused. */
export type WorkspaceRequirement = 'may be left out' | 'must be named';

const defaultSumsRequest = {
  by: [],
  usesLog: false,
  limit: stepsMax,
  offset: 0,
  order: 'shared',
} as const;

/**
 * @throws ApiError `invalid`; `unplaced` when a required workspace is missing; the errors of
 *   {@link resolveWorkspace}
 */
export async function openRequestQueries(
  { database }: Pick<AdminDeps, 'database'>,
  { caller, now }: QueryRequestParts,
  query: FilterQuery & { readonly workspace_id?: string | undefined },
  place: WorkspaceRequirement,
  right: 'ViewAnalytics' | 'ViewLogs' = 'ViewAnalytics',
): Promise<RequestQueries> {
  const db = database.readable;
  const workspace = await resolveWorkspace(db, caller, query.workspace_slug ?? query.workspace_id);
  if (workspace === null && place === 'must be named') {
    throw new ApiError('unplaced', undefined, 'workspaceSlug');
  }
  await requireRight(db, caller, workspace, right);
  const visible = await visibleKeys(db, caller, workspace);
  const range = parseTimeRange(query, now, rangeDaysMax);
  const narrowed = await filterOf(db, caller, query);
  const filter = {
    ...narrowed,
    ...range,
    workspaceId: workspace?.id,
    apiKeyIds: bothOf(narrowed.apiKeyIds, visible ?? undefined),
  };
  // Totals exist for whole hours only.
  const hours = { from: startOfTotalsStep(range.from), to: startOfTotalsStep(range.to) };
  const toSumsQuery = (request: Partial<SumsRequest>): requestSums.SumsQuery => {
    const sumsQuery = { ...defaultSumsRequest, filter, ...request };
    if (!requestSums.needsLog(sumsQuery)) {
      return { ...sumsQuery, filter: { ...filter, ...hours } };
    }
    return sumsQuery;
  };
  const sum = (request: Partial<SumsRequest>) =>
    sumPage(db, caller.organisationId, toSumsQuery(request));
  const whole = async (more: Partial<SumsRequest> = {}) =>
    (await sum({ ...more, by: [], limit: 1 }))[0]!;
  return {
    workspace,
    range,
    filter,
    sum,
    timeRange: filter.log ? range : { ...hours, to: hours.to + totalsStepMs },
    stepMs: stepOf(range),
    whole,
    wholeOfHits: () => {
      const log = { ...(filter.log ?? anyOfLog), cacheStatuses: cacheHits };
      return whole({ filter: { ...filter, log } });
    },
    semanticHits: () => {
      const { log = anyOfLog } = filter;
      const isExcluded = log.cacheStatuses?.includes(semanticHit) === false;
      if (isExcluded) return Promise.resolve([]);
      const hits = { ...filter, log: { ...log, cacheStatuses: [semanticHit] } };
      const stepMs = stepOf(range);
      return sum({ filter: hits, by: [{ stepMs }], usesLog: true });
    },
    count: (request) => requestSums.count(db, caller.organisationId, toSumsQuery(request)),
    sumFeedback: (by, byValue = false) => {
      const sumsQuery = toSumsQuery({ by, usesLog: true, limit: feedbackSumsMax });
      return sumFeedback(db, caller.organisationId, { ...sumsQuery, byValue });
    },
    keys: () => {
      const sumsQuery = toSumsQuery({ usesLog: true, limit: keySetsMax });
      return listMetadataKeys(db, caller.organisationId, sumsQuery);
    },
    rows: (page) => {
      const sumsQuery = toSumsQuery({ ...page, usesLog: true });
      return listMatchingRows(db, caller.organisationId, sumsQuery);
    },
  };
}

const semanticHit = 'SEMANTIC HIT';

function stepOf({ from, to }: Range): number {
  return to - from <= hourlyMs ? totalsStepMs : rangeDayMs;
}

/**
 * Limit and offset of a page selected by its number.
 *
 * @param name the query field with the number
 * @throws ApiError `invalid` for a page too far from the first
 */
export function pageByNumber(
  { page_size: limit, current_page }: { readonly page_size: number; readonly current_page: number },
  name: string,
): Page {
  const offset = limit * current_page;
  if (offset < pagedRowsMax) return { limit: Math.min(limit, pagedRowsMax - offset), offset };
  const message = `must not lead beyond row ${pagedRowsMax}: request a shorter time range`;
  throw validationError({ path: [name], message });
}

/** Sums of each time step in order; undefined for steps without requests. */
export function timeSteps<T>(
  { range, stepMs }: Pick<RequestQueries, 'range' | 'stepMs'>,
  sumsByTime: ReadonlyMap<number, T>,
): { readonly at: number; readonly sums: T | undefined }[] {
  const all = [];
  for (let at = range.from - (range.from % stepMs); at <= range.to; at += stepMs) {
    all.push({ at, sums: sumsByTime.get(at) });
  }
  return all;
}

/** Sums of the same shape with all values zero. */
export function zeroSums(sums: requestSums.RequestSums): requestSums.RequestSums {
  const noughts = Object.entries(sums).map(([name, value]) => [
    name,
    typeof value === 'number' ? 0 : value,
  ]);
  return Object.fromEntries(noughts);
}

export interface RequestStatusCount {
  readonly status: number;
  readonly count: number;
}

/** Errors by time step and status, lowest status first. */
export async function errorsAlong(
  questions: RequestQueries,
): Promise<Map<number, RequestStatusCount[]>> {
  const { stepMs } = questions;
  const sums = await questions.sum({ by: [{ stepMs }, 'status'], limit: 10_000 });
  const errorsByTime = new Map<number, RequestStatusCount[]>();
  for (const { shared, errors } of sums) {
    if (errors === 0) continue;
    const at = Number(shared[0]);
    const here = errorsByTime.get(at) ?? [];
    here.push({ status: Number(shared[1]), count: errors });
    errorsByTime.set(at, here);
  }
  return errorsByTime;
}

export function byStatusOf(
  along: ReadonlyMap<number, readonly RequestStatusCount[]>,
): RequestStatusCount[] {
  const counts = new Map<number, number>();
  for (const { status, count } of [...along.values()].flat()) {
    counts.set(status, (counts.get(status) ?? 0) + count);
  }
  const sorted = [...counts].sort(([a], [b]) => a - b);
  return sorted.map(([status, count]) => ({ status, count }));
}

/** Cache hits, and how much faster they were than provider calls. */
export async function summarizeCache(questions: RequestQueries) {
  const all = await questions.whole({ usesLog: true, onlyModels: true });
  const hits = await questions.wholeOfHits();
  const missed = all.requests - hits.requests;
  const latency = averageOf(hits.duration_ms, hits);
  const missLatency = missed === 0 ? 0 : (all.duration_ms - hits.duration_ms) / missed;
  return {
    hits: hits.requests,
    latency,
    total: all.requests,
    speedup: latency ? missLatency / latency : 0,
  };
}
