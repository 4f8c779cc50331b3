/** Groups requests by the guardrails that judged them; a request counts for each of its guardrails. */
import type { GuardrailVerdict } from '../../../model/logs/request-log.ts';
import { validationError } from '../../../model/wire/validation-error.ts';
import type { FigureOrder, RequestSums } from '../../../store/logs/request-sums.ts';
import { pageByNumber, type RequestQueries } from './request-queries.ts';

/** Distinct combinations of guardrails and verdicts in one query. */
const combinationsMax = 10_000;
/** Length of the digest in front of a combination. */
const digestChars = 32;

/**
 * @throws ApiError `invalid` for a range with more combinations of verdicts than are added up, or for an

 */
export async function pageOfGuardrails(
  questions: RequestQueries,
  cut: { readonly page_size: number; readonly current_page: number },
  order: FigureOrder | undefined,
) {
  const { offset, limit } = pageByNumber(cut, 'current_page');
  const combinations = await questions.sum({ by: ['guardrails'], limit: combinationsMax });
  if (combinations.length === combinationsMax) {
    const message = 'covers too many combinations of verdicts: request a shorter time range';
    throw validationError({ path: ['time_of_generation_min'], message });
  }
  const sumsById = new Map<string, RequestSums>();
  for (const { shared, ...sums } of combinations) {
    const [text] = shared;
    if (typeof text !== 'string') continue;
    const verdicts: Record<string, GuardrailVerdict> = JSON.parse(text.slice(digestChars));
    for (const [id, verdict] of Object.entries(verdicts)) {
      const own = { ...sums, shared: [id], ...countsOf(verdict, sums.requests) };
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

/** The verdicts of one guardrail, in place of those of the whole request. */
function countsOf(verdict: GuardrailVerdict, requests: number) {
  return {
    guardrail_passed: verdict === 'passed' ? requests : 0,
    guardrail_failed: verdict === 'failed' ? requests : 0,
    guardrail_denied: verdict === 'denied' ? requests : 0,
  };
}

/** Figures of bounds, which are compared instead of added. */
const least: readonly string[] = ['tokensLeast', 'costUnitsLeast', 'firstAt'];
const most: readonly string[] = ['tokensMost', 'costUnitsMost', 'lastAt'];

function added(one: RequestSums, other: RequestSums): RequestSums {
  const entries = Object.entries(one).map(([name, value]) => {
    const more = other[name as keyof RequestSums];
    if (typeof value !== 'number' || typeof more !== 'number') return [name, value];
    if (least.includes(name)) return [name, Math.min(value, more)];
    return [name, most.includes(name) ? Math.max(value, more) : value + more];
  });
  return Object.fromEntries(entries) as RequestSums;
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
