/** Adds up the figures of providers, which the log names by slug, with or without `@`. */
import type { BodyOf } from '../../api/client.ts';

export type Groups = Extract<BodyOf<'/v1/analytics/groups/{group}'>, { total: number }>;

export interface ProviderFigures {
  readonly requests: number;
  /** Without requests that guardrails denied, for which the provider is not to blame. */
  readonly errors: number;
  /** The slower one where a provider has two spellings. */
  readonly latencyMsP99: number | null;
  /** Dollars. */
  readonly cost: number;
  /** RFC 3339, to the hour; null without requests. */
  readonly lastSeen: string | null;
}

const centsPerDollar = 100;
const none: ProviderFigures = {
  requests: 0,
  errors: 0,
  latencyMsP99: null,
  cost: 0,
  lastSeen: null,
};

export function figuresOf(slug: string, groups: Groups['data']): ProviderFigures {
  return groups
    .filter(({ provider }) => provider === slug || provider === `@${slug}`)
    .map((row) => ({
      requests: row.requests,
      errors: Math.max(0, Number(row.error_count ?? 0) - Number(row.guardrail_denied ?? 0)),
      latencyMsP99: row.p99_latency as number | null,
      cost: Number(row.cost ?? 0) / centsPerDollar,
      lastSeen: row.last_seen as string | null,
    }))
    .reduce(add, none);
}

function add(one: ProviderFigures, other: ProviderFigures): ProviderFigures {
  const latencies = [one.latencyMsP99, other.latencyMsP99].filter((ms) => ms !== null);
  const times = [one.lastSeen, other.lastSeen].filter((at) => at !== null).toSorted();
  return {
    requests: one.requests + other.requests,
    errors: one.errors + other.errors,
    latencyMsP99: latencies.length === 0 ? null : Math.max(...latencies),
    cost: one.cost + other.cost,
    lastSeen: times.at(-1) ?? null,
  };
}
