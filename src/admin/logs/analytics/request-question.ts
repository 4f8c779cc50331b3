/** Knows how questions about sums over requests are asked, on every plane alike. */

import { startOfTotalsStep, totalsStepMs } from '../../../model/logs/request-log.ts';
import { ApiError } from '../../../model/wire/errors.ts';
import type { Page } from '../../../model/wire/paging.ts';
import { validationError } from '../../../model/wire/validation-error.ts';
import { type FeedbackSums, sumFeedback } from '../../../store/logs/feedback-sums.ts';
import type { RequestLogRow } from '../../../store/logs/request-logs.ts';
import * as requestSums from '../../../store/logs/request-sums.ts';
import type { StoredWorkspace } from '../../../store/resources/workspaces.ts';
import { requireRight, visibleKeys } from '../../access/visibility.ts';
import type { AdminDeps, AdminRequest } from '../../request/deps.ts';
import { resolveWorkspace } from '../../request/scoping.ts';
import { anyOfLog, bothOf, type FilterQuery, filterOf } from './request-filter.ts';
import { averageOf } from './sums-figures.ts';
import { dayMs, type Range, rangeOf } from './time-range.ts';

/** Of totals by the hour, and of rows of the log. */
const totalsDaysMax = 366;
const logDaysMax = 31;
/** Longer ones are told by the day. */
const hourlyMs = 2 * dayMs;
const stepsMax = 400;
const keySetsMax = 1000;
const feedbackSumsMax = 10_000;
/** Pages behind it would be read from the first row on: whoever wants more asks for shorter stretches. */
const pagedRowsMax = 10_000;

type Asked = Pick<AdminRequest, 'caller' | 'now'>;
type Sought = Pick<requestSums.SumsQuestion, 'by'> & Partial<requestSums.SumsQuestion>;

/** One stretch of requests that somebody may see, about which more than one thing can be asked. */
export interface Questions {
  readonly workspace: StoredWorkspace | null;
  readonly range: Range;
  /** What answers are about: whole hours where totals answer. */
  readonly stretch: Range;
  /** Of the pieces that the stretch is told in. */
  readonly stepMs: number;
  readonly filter: requestSums.SumsFilter;
  /** Those of all, with noughts for none. */
  readonly whole: (more?: Partial<Sought>) => Promise<requestSums.SharedSums>;
  /** Those that the cache has answered. */
  readonly wholeOfHits: () => Promise<requestSums.SharedSums>;
  readonly ask: (sought: Sought) => Promise<requestSums.SharedSums[]>;
  readonly count: (sought: Sought) => Promise<number>;
  /** What was said of their answers. */
  readonly askFeedback: (
    by: readonly requestSums.SumsKey[],
    byValue?: boolean,
  ) => Promise<FeedbackSums[]>;
  /** Of metadata. */
  readonly keys: () => Promise<string[]>;
  /** Newest first. */
  readonly rows: (page: Page) => Promise<RequestLogRow[]>;
}

/** Whether a question without a place is about all of the organisation, or refused. */
export type Place = 'may be left out' | 'must be named';

/**
 * @throws ApiError `invalid`, and as {@link resolveWorkspace}; `unplaced` where a place must be named
 */
export async function openQuestions(
  { database }: Pick<AdminDeps, 'database'>,
  { caller, now }: Asked,
  query: FilterQuery & { readonly workspace_id?: string | undefined },
  place: Place,
  right: 'ViewAnalytics' | 'ViewLogs' = 'ViewAnalytics',
): Promise<Questions> {
  const db = database.readable;
  const workspace = await resolveWorkspace(db, caller, query.workspace_slug ?? query.workspace_id);
  if (workspace === null && place === 'must be named') {
    throw new ApiError('unplaced', undefined, 'workspaceSlug');
  }
  await requireRight(db, caller, workspace, right);
  const visible = await visibleKeys(db, caller, workspace);
  const range = rangeOf(query, now, totalsDaysMax);
  const narrowed = await filterOf(db, caller, query);
  const filter = {
    ...{ ...narrowed, ...range, workspaceId: workspace?.id },
    apiKeyIds: bothOf(narrowed.apiKeyIds, visible ?? undefined),
  };
  // Totals are of whole hours.
  const hours = { from: startOfTotalsStep(range.from), to: startOfTotalsStep(range.to) };
  const questionOf = (sought: Partial<Sought>): requestSums.SumsQuestion => {
    const question = {
      ...{ filter, by: [], asksLog: false, limit: stepsMax, offset: 0 },
      ...{ order: 'shared' as const, ...sought },
    };
    if (!requestSums.needsLog(question)) {
      return { ...question, filter: { ...filter, ...hours } };
    }
    rangeOf(query, now, logDaysMax);
    return question;
  };
  const ask = (sought: Partial<Sought>) =>
    requestSums.sum(db, caller.organisationId, questionOf(sought));
  const whole = async (more: Partial<Sought> = {}) =>
    (await ask({ ...more, by: [], limit: 1 }))[0]!;
  return {
    ...{ workspace, range, filter, ask },
    stretch: filter.log ? range : { ...hours, to: hours.to + totalsStepMs },
    stepMs: range.to - range.from <= hourlyMs ? totalsStepMs : dayMs,
    whole,
    wholeOfHits: () => {
      const log = { ...(filter.log ?? anyOfLog), cacheStatuses: ['HIT'] };
      return whole({ filter: { ...filter, log } });
    },
    count: (sought) => requestSums.count(db, caller.organisationId, questionOf(sought)),
    askFeedback: (by, byValue = false) => {
      const question = questionOf({ by, asksLog: true, limit: feedbackSumsMax });
      return sumFeedback(db, caller.organisationId, { ...question, byValue });
    },
    keys: () => {
      const question = questionOf({ asksLog: true, limit: keySetsMax });
      return requestSums.listMetadataKeys(db, caller.organisationId, question);
    },
    rows: (page) => {
      const question = questionOf({ ...page, asksLog: true });
      return requestSums.listRows(db, caller.organisationId, question);
    },
  };
}

/**
 * The rows of a page that is asked for by its number.
 *
 * @param name of the query field that tells the number
 * @throws ApiError `invalid` for a page that lies too far behind
 */
export function shortPage(
  { page_size: limit, current_page }: { readonly page_size: number; readonly current_page: number },
  name: string,
): Page {
  const offset = limit * current_page;
  if (offset < pagedRowsMax) return { limit: Math.min(limit, pagedRowsMax - offset), offset };
  const message = `must not lead beyond row ${pagedRowsMax}: ask for a shorter stretch`;
  throw validationError({ path: [name], message });
}

/** What there is for each piece of time, in its order; undefined for those without requests. */
export function pieces<T>(
  { range, stepMs }: Pick<Questions, 'range' | 'stepMs'>,
  found: ReadonlyMap<number, T>,
): { readonly at: number; readonly sums: T | undefined }[] {
  const all = [];
  for (let at = range.from - (range.from % stepMs); at <= range.to; at += stepMs) {
    all.push({ at, sums: found.get(at) });
  }
  return all;
}

/** Noughts in the shape of sums. */
export function nothingLike(sums: requestSums.SharedSums): requestSums.SharedSums {
  const noughts = Object.entries(sums).map(([name, value]) => [
    name,
    typeof value === 'number' ? 0 : value,
  ]);
  return Object.fromEntries(noughts);
}

export interface StatusCount {
  readonly status: number;
  readonly count: number;
}

/** Errors only, those with the lowest status first. */
export async function errorsAlong(questions: Questions): Promise<Map<number, StatusCount[]>> {
  const { stepMs } = questions;
  const sums = await questions.ask({ by: [{ stepMs }, 'status'], limit: 10_000 });
  const found = new Map<number, StatusCount[]>();
  for (const { shared, errors } of sums) {
    if (errors === 0) continue;
    const at = Number(shared[0]);
    const here = found.get(at) ?? [];
    here.push({ status: Number(shared[1]), count: errors });
    found.set(at, here);
  }
  return found;
}

export function byStatusOf(along: ReadonlyMap<number, readonly StatusCount[]>): StatusCount[] {
  const counts = new Map<number, number>();
  for (const { status, count } of [...along.values()].flat()) {
    counts.set(status, (counts.get(status) ?? 0) + count);
  }
  const sorted = [...counts].sort(([a], [b]) => a - b);
  return sorted.map(([status, count]) => ({ status, count }));
}

/** What the cache has answered, and how much sooner than providers did. */
export async function summarizeCache(questions: Questions) {
  const all = await questions.whole({ asksLog: true });
  const hits = await questions.wholeOfHits();
  const missed = all.requests - hits.requests;
  const latency = averageOf(hits.duration_ms, hits);
  const missLatency = missed === 0 ? 0 : (all.duration_ms - hits.duration_ms) / missed;
  return {
    ...{ hits: hits.requests, latency, total: all.requests },
    speedup: latency ? missLatency / latency : 0,
  };
}
