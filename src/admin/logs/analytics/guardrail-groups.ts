/** Groups requests by the guardrails or checks that judged them; a request counts for each of them. */
import type { CheckVerdict, GuardrailVerdict } from '../../../model/logs/request-log.ts';
import { validationError } from '../../../model/wire/validation-error.ts';
import type { LoggedCheckColumns } from '../../../store/logs/request-logs.ts';
import type { FigureOrder, RequestSums } from '../../../store/logs/request-sums.ts';
import { pageByNumber, type RequestQueries } from './request-queries.ts';

/** The columns of the log with the verdicts of guardrails, and of checks. */
export type VerdictKey = 'guardrails' | 'guardrail_checks';

/** Sums of the requests that one guardrail or check judged. */
export interface JudgedSums extends RequestSums {
  /** Requests that the check could not judge; undefined for a guardrail. */
  readonly guardrail_unjudged?: number;
}

/** Distinct combinations of guardrails and verdicts in one query. */
const combinationsMax = 10_000;
/** Length of the digest in front of a combination. */
const digestChars = 32;

/**
 * @throws ApiError `invalid` for a range with more combinations of verdicts than are added up, or for an

 */
export async function pageOfGuardrails(
  questions: RequestQueries,
  key: VerdictKey,
  cut: { readonly page_size: number; readonly current_page: number },
  order: FigureOrder | undefined,
) {
  const { offset, limit } = pageByNumber(cut, 'current_page');
  const combinations = await questions.sum({ by: [key], limit: combinationsMax });
  if (combinations.length === combinationsMax) {
    const message = 'covers too many combinations of verdicts: request a shorter time range';
    throw validationError({ path: ['time_of_generation_min'], message });
  }
  const sumsById = new Map<string, JudgedSums>();
  for (const { shared, ...sums } of combinations) {
    const [text] = shared;
    if (typeof text !== 'string') continue;
    const countsById = countReaders[key](text.slice(digestChars), sums.requests);
    for (const [id, counts] of countsById) {
      const own = { ...sums, shared: [id], ...counts };
      const earlier = sumsById.get(id);
      sumsById.set(id, earlier === undefined ? own : added(earlier, own));
    }
  }
  const { figure, isAscending } = order ?? { figure: 'requests', isAscending: false };
  const sortValue = sortValues[figure];
  const sorted = [...sumsById.values()].toSorted(
    (one, other) =>
      compare(sortValue(one), sortValue(other)) * (isAscending ? 1 : -1) || byId(one, other),
  );
  return { rows: sorted.slice(offset, offset + limit), total: sorted.length };
}

const idOf = ({ shared }: RequestSums): string => String(shared[0]);
const byId = (one: RequestSums, other: RequestSums): number => compare(idOf(one), idOf(other));

function compare(one: string | number, other: string | number): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

type VerdictCounts = ReturnType<typeof countsOf> & Pick<JudgedSums, 'guardrail_unjudged'>;

/** Reads the verdicts of a combination: counts by guardrail, or by guardrail and check. */
const countReaders: Readonly<
  Record<VerdictKey, (text: string, requests: number) => ReadonlyMap<string, VerdictCounts>>
> = {
  guardrails: (text, requests) => {
    const verdicts = Object.entries(JSON.parse(text) as Record<string, GuardrailVerdict>);
    return new Map(verdicts.map(([id, verdict]) => [id, countsOf(verdict, requests)]));
  },
  guardrail_checks: (text, requests) => {
    const worst = new Map<string, CheckVerdict | 'monitored'>();
    for (const [guardrail, check, , verdict, isMonitored] of JSON.parse(
      text,
    ) as readonly LoggedCheckColumns[]) {
      const id = `${guardrail}/${check}`;
      const own = verdict === 'failed' && isMonitored === 1 ? 'monitored' : verdict;
      const earlier = worst.get(id);
      const isWorse =
        earlier === undefined || severities.indexOf(own) > severities.indexOf(earlier);
      if (isWorse) worst.set(id, own);
    }
    return new Map([...worst].map(([id, verdict]) => [id, checkCounts(verdict, requests)]));
  },
};

const severities = ['skipped', 'passed', 'unjudged', 'monitored', 'failed'] as const;

function checkCounts(verdict: CheckVerdict | 'monitored', requests: number): VerdictCounts {
  const isJudged = verdict !== 'skipped' && verdict !== 'unjudged';
  const guardrail_unjudged = verdict === 'unjudged' ? requests : 0;
  return { ...countsOf(isJudged ? verdict : null, requests), guardrail_unjudged };
}

/** The verdicts of one guardrail, in place of those of the whole request. */
function countsOf(verdict: GuardrailVerdict | null, requests: number) {
  return {
    guardrail_passed: verdict === 'passed' ? requests : 0,
    guardrail_monitored: verdict === 'monitored' ? requests : 0,
    guardrail_failed: verdict === 'failed' ? requests : 0,
    guardrail_denied: verdict === 'denied' ? requests : 0,
  };
}

/** Figures of bounds, which are compared instead of added. */
const least: readonly string[] = ['tokensLeast', 'costUnitsLeast', 'firstAt'];
const most: readonly string[] = ['tokensMost', 'costUnitsMost', 'lastAt'];

function added(one: JudgedSums, other: JudgedSums): JudgedSums {
  const entries = Object.entries(one).map(([name, value]) => {
    const more = other[name as keyof JudgedSums];
    if (typeof value !== 'number' || typeof more !== 'number') return [name, value];
    if (least.includes(name)) return [name, Math.min(value, more)];
    return [name, most.includes(name) ? Math.max(value, more) : value + more];
  });
  return Object.fromEntries(entries) as JudgedSums;
}

const perRequest = (value: number, { requests }: RequestSums): number => value / requests;

const sortValues: Readonly<Record<FigureOrder['figure'], (sums: RequestSums) => string | number>> =
  {
    shared: idOf,
    requests: ({ requests }) => requests,
    cost: ({ cost_units }) => cost_units,
    total_tokens: (sums) => sums.input_tokens + sums.output_tokens,
    avg_tokens: (sums) => perRequest(sums.input_tokens + sums.output_tokens, sums),
    avg_input_tokens: (sums) => perRequest(sums.input_tokens, sums),
    avg_output_tokens: (sums) => perRequest(sums.output_tokens, sums),
    avg_latency: (sums) => perRequest(sums.duration_ms, sums),
    success_rate: (sums) => perRequest(sums.requests - sums.errors, sums),
    error_count: ({ errors }) => errors,
    cache_hit_rate: (sums) => perRequest(sums.cache_hits, sums),
    last_seen: ({ lastAt }) => lastAt ?? 0,
    first_seen: ({ firstAt }) => firstAt ?? 0,
  };
