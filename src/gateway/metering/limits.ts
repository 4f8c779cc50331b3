/** Determines the limits of a call: those of its key, workspace, provider and policies. */
import type { Limit } from '../../ledger/limit.ts';
import {
  limitOfBudget,
  limitsOfPolicy,
  limitsOfRates,
  type PolicyTerms,
  type RequestFacts,
} from '../../ledger/request-limits.ts';
import { endpointOf } from '../../model/endpoints/catalogue.ts';
import type { RateTarget } from '../../model/limits/rate-limit-policy.ts';
import type { ConfigurationReads } from '../../store/reads/configuration-reads.ts';
import type { RatePolicyRow, UsagePolicyRow } from '../../store/reads/gateway-reads.ts';
import type { Exchange } from '../callers/exchange.ts';
import { noTerms, termsOfRow } from '../callers/limit-terms.ts';
import type { SnapshotCache } from '../callers/snapshot-cache.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';

/** Kinds of limits that a deployment can switch off. */
export interface LimitSwitches {
  readonly policy: boolean;
  /** All budgets, including those of policies. */
  readonly usageLimits: boolean;
}

/** Caches the policies of each organisation. */
export class Policies {
  readonly #reads: Pick<ConfigurationReads, 'listPolicies'>;
  readonly #cache: SnapshotCache<readonly PolicyTerms[]>;
  readonly #switches: LimitSwitches;
  readonly #target: RateTarget;

  /** `target` selects the rate limits; budgets apply to whatever their conditions match. */
  constructor(
    reads: Pick<ConfigurationReads, 'listPolicies'>,
    cache: SnapshotCache<readonly PolicyTerms[]>,
    switches: LimitSwitches,
    target: RateTarget = 'llm',
  ) {
    this.#reads = reads;
    this.#cache = cache;
    this.#switches = switches;
    this.#target = target;
  }

  of(organisationId: string): readonly PolicyTerms[] | Promise<readonly PolicyTerms[]> {
    if (!this.#switches.policy) return none;
    const cached = this.#cache.peek(organisationId);
    if (cached !== undefined) return cached;
    const reading = this.#cache.get(organisationId, async () => {
      const { generation, usageLimits, rateLimits } =
        await this.#reads.listPolicies(organisationId);
      const ofTarget = rateLimits.filter(({ target }) => target === this.#target);
      const budgets = this.#switches.usageLimits ? usageLimits : [];
      const value = [...ofTarget.map(ratePolicy), ...budgets.map(usagePolicy)];
      return { organisationId, generation, value };
    });
    return reading.then((policies) => policies ?? []);
  }
}

const none: readonly PolicyTerms[] = [];

function ratePolicy(row: RatePolicyRow): PolicyTerms {
  const limits = [{ type: row.type, unit: row.unit, value: row.value }];
  return { ...requestsOf(row), terms: { ...subjectOf(row, 'rate-limit policy'), limits } };
}

function usagePolicy(row: UsagePolicyRow): PolicyTerms {
  const terms = { ...subjectOf(row, 'usage-limit policy'), ...termsOfRow(row) };
  return { ...requestsOf(row), terms };
}

/** The requests that a policy applies to. */
function requestsOf(row: RatePolicyRow | UsagePolicyRow): Omit<PolicyTerms, 'terms'> {
  return {
    conditions: JSON.parse(row.conditions) as PolicyTerms['conditions'],
    groupBy: JSON.parse(row.group_by) as PolicyTerms['groupBy'],
    workspaceId: row.workspace_id,
  };
}

function subjectOf(row: RatePolicyRow | UsagePolicyRow, kind: string) {
  return {
    organisationId: row.organisation_id,
    subjectKind: 'policy' as const,
    subjectId: row.id,
    label: `${kind} ${row.name ?? row.id}`,
  };
}

/** Returns all limits of one call, in the order in which they are reported; `isHard` limits reject. */
export function limitsOf(
  exchange: Exchange,
  target: ResolvedTarget,
  config: GatewayConfig,
  policies: readonly PolicyTerms[],
  isHard: boolean,
  { usageLimits }: Pick<LimitSwitches, 'usageLimits'>,
): Limit[] {
  const { key, now } = exchange;
  const limits: Limit[] = [];
  for (const { budgets, rates } of [key.terms, target.workspaceProvider?.terms ?? noTerms]) {
    if (usageLimits) {
      for (const terms of budgets) {
        limits.push(limitOfBudget(terms, terms.valueKey ?? '', now, isHard));
      }
    }
    for (const terms of rates) {
      limits.push(...limitsOfRates(terms, terms.valueKey ?? '', now, isHard));
    }
  }
  if (policies.length === 0) return limits;
  const facts = factsOf(exchange, target, config);
  for (const policy of policies) {
    if (policy.workspaceId !== null && policy.workspaceId !== key.workspace?.id) continue;
    limits.push(...limitsOfPolicy(policy, facts, now, isHard));
  }
  return limits;
}

/** The values that policy conditions can match, by key. */
function factsOf(exchange: Exchange, target: ResolvedTarget, config: GatewayConfig): RequestFacts {
  const { key, metadata } = exchange;
  const { provider, workspaceProvider, model } = target;
  const bare = provider.replace(/^@/, '');
  const ids = workspaceProvider === null ? [] : [workspaceProvider.id];
  const facts = new Map<string, readonly string[]>([
    ['api_key', [key.id, key.name]],
    ['organisation_id', [key.organisationId]],
    ['provider', [provider, bare, `@${bare}`, ...ids]],
    ['virtual_key', [provider, bare, ...ids]],
    ['endpoint_type', [endpointOf(exchange.path)]],
  ]);
  if (key.workspace !== null) facts.set('workspace_id', [key.workspace.id, key.workspace.slug]);
  if (config.id !== null) facts.set('config', [config.id]);
  if (model !== null) facts.set('model', [model, `@${bare}/${model}`]);
  for (const name in metadata) facts.set(`metadata.${name}`, [String(metadata[name])]);
  return facts;
}
