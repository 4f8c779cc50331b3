/** Converts a config document to a tree whose leaves contain all settings of a call, inherited ones included. */
import { accountFieldsIn } from '../services/account-fields.ts';
import { type CacheSettings, cacheSettingsOf } from './cache-settings.ts';
import type { ConfigDocument } from './config.ts';

type StrategyMode = 'single' | 'loadbalance' | 'fallback' | 'conditional';

/** How often a call is retried, and after which response statuses. */
export interface RetryRule {
  /** Retries after the first call. */
  readonly attempts: number;
  readonly statusCodes: ReadonlySet<number>;
  /** Whether the provider's retry-after header sets the delay. */
  readonly usesRetryAfter: boolean;
}

export interface BreakerRule {
  /** Consecutive failures in the window; null if only the percentage counts. */
  readonly failuresMax: number | null;
  /** Percentage of failures, 0 to 100; null if only the number counts. */
  readonly failurePercentMax: number | null;
  /** Minimum calls before the percentage is evaluated. */
  readonly callsMin: number;
  readonly cooldownMs: number;
  /** Null means every status above 500. */
  readonly statusCodes: ReadonlySet<number> | null;
}

/** Guardrails by slug or id, or inline, as listed in a document. */
type GuardrailEntries = readonly (string | Readonly<Record<string, unknown>>)[];

/** Guardrails of a call, by field of the document. A level that sets a field replaces the inherited list. */
export interface GuardrailSettings {
  readonly before_request_hooks: GuardrailEntries;
  readonly input_guardrails: GuardrailEntries;
  readonly after_request_hooks: GuardrailEntries;
  readonly output_guardrails: GuardrailEntries;
}

/** Settings of one call: those of its level and the inherited ones. */
export interface TargetSettings {
  readonly provider: string | null;
  readonly virtualKey: string | null;
  readonly apiKey: string | null;
  readonly customHost: string | null;
  /** The request selects the provider; the target fails if the request names none. */
  readonly isPassthrough: boolean;
  readonly defaultParams: Readonly<Record<string, unknown>> | null;
  readonly overrideParams: Readonly<Record<string, unknown>> | null;
  readonly dropParams: readonly string[] | null;
  /** Treatment of members that the provider's format does not have; null refuses all but hints. */
  readonly unsupported: 'drop' | 'refuse' | null;
  readonly retry: RetryRule | null;
  readonly cache: CacheSettings | null;
  readonly requestTimeoutMs: number | null;
  readonly forwardHeaders: readonly string[] | null;
  /** Most input tokens of the model; null for those that are published. */
  readonly contextWindow: number | null;
  /** Shared by all levels that inherit it; null without guardrails. */
  readonly guardrails: GuardrailSettings | null;
  /** Whether responses contain only fields of the OpenAI API. */
  readonly isStrict: boolean;
  /** Fields of the provider account: `azure_resource_name`, `openai_organization` and the like. */
  readonly account: Readonly<Record<string, string>>;
}

/** When a second request is sent because the first has not begun to answer. */
export interface HedgeRule {
  readonly percentile: number;
  readonly minMs: number;
  /** Most second requests for 100 requests. */
  readonly maxPercent: number;
  /** The target of the second request. */
  readonly target: ConfigLeaf;
}

type BalanceBy = 'weight' | 'latency' | 'cost';

export interface ConfigLeaf {
  readonly kind: 'leaf';
  /** `config.targets[2].targets[0]`; `config` for the root. */
  readonly path: string;
  readonly weight: number;
  readonly settings: TargetSettings;
  readonly breaker: BreakerRule | null;
  /** Whether a strategy above needs statistics of its calls. */
  readonly isMeasured: boolean;
  /** Null when no second request is sent. */
  readonly hedge: HedgeRule | null;
}

export interface ConfigBranch {
  readonly kind: 'branch';
  readonly path: string;
  readonly weight: number;
  readonly mode: StrategyMode;
  readonly targets: readonly ConfigNode[];
  /** Statuses that lead to the next target; null means all but 2xx. */
  readonly onStatusCodes: ReadonlySet<number> | null;
  readonly conditions: readonly { readonly query: unknown; readonly target: ConfigNode }[];
  readonly defaultTarget: ConfigNode | null;
  /** How a load balance selects. */
  readonly balanceBy: BalanceBy;
  readonly skipsUnhealthy: boolean;
  /** Whether a prompt that is too long for a model leads to the next target. */
  readonly onContextWindow: boolean;
  readonly sticky: { readonly fields: readonly string[]; readonly ttlSeconds: number } | null;
}

export type ConfigNode = ConfigLeaf | ConfigBranch;

type Level = Readonly<Record<string, unknown>>;

const defaultRetryCodes = [429, 500, 502, 503, 504, 529];
const defaultStickySeconds = 3_600;
const breakerCooldownMsMin = 30_000;

/** Settings of a call without a config. */
export const defaultTargetSettings: TargetSettings = {
  provider: null,
  virtualKey: null,
  apiKey: null,
  customHost: null,
  isPassthrough: false,
  defaultParams: null,
  overrideParams: null,
  dropParams: null,
  unsupported: null,
  retry: null,
  cache: null,
  requestTimeoutMs: null,
  forwardHeaders: null,
  contextWindow: null,
  guardrails: null,
  isStrict: true,
  account: {},
};

/**
 * Builds the tree of a document that `configFaults` accepts. A level inherits what it does not set from
 * the level above: parameters by name, every other setting as a whole.
 */
export function buildConfigTree(document: ConfigDocument): ConfigNode {
  return nodeOf(document, 'config', defaultTargetSettings, { breaker: null, isMeasured: false });
}

function nodeOf(
  level: Level,
  path: string,
  inherited: TargetSettings,
  outer: Pick<ConfigLeaf, 'breaker' | 'isMeasured'>,
): ConfigNode {
  const settings = settingsOf(level, inherited);
  const strategy = record(level.strategy);
  const breaker = breakerOf(level.cb_config ?? strategy.cb_config) ?? outer.breaker;
  const weight = typeof level.weight === 'number' ? level.weight : 1;
  const levels = Array.isArray(level.targets) ? (level.targets as Level[]) : [];
  const { isMeasured } = outer;
  if (levels.length === 0) {
    return { kind: 'leaf', path, weight, settings, breaker, isMeasured, hedge: null };
  }
  const mode = (strategy.mode as StrategyMode | undefined) ?? 'single';
  const balanceBy = (strategy.balance_by as BalanceBy | undefined) ?? 'weight';
  const skipsUnhealthy = strategy.skip_unhealthy === true || balanceBy !== 'weight';
  const below = {
    breaker: mode === 'conditional' ? null : breaker,
    isMeasured: isMeasured || skipsUnhealthy || strategy.hedge !== undefined,
  };
  const targets = hedged(
    levels.map((target, at) => nodeOf(target, `${path}.targets[${at}]`, settings, below)),
    mode,
    strategy.hedge,
  );
  const named = new Map(levels.map(({ name }, at) => [name, targets[at]!]));
  const conditions = Array.isArray(strategy.conditions) ? (strategy.conditions as Level[]) : [];
  return {
    kind: 'branch',
    path,
    weight,
    mode,
    targets,
    onStatusCodes: codesOf(strategy.on_status_codes ?? level.on_status_codes),
    conditions: conditions.flatMap(({ query, then }) => {
      const target = named.get(then);
      return target === undefined ? [] : [{ query, target }];
    }),
    defaultTarget: named.get(strategy.default) ?? null,
    balanceBy,
    skipsUnhealthy,
    onContextWindow: strategy.on_context_window === true,
    sticky: stickyOf(strategy.sticky),
  };
}

/** A target hedges with the one after it; the last of a load balance with the first, any other last one with itself. */
function hedged(
  targets: readonly ConfigNode[],
  mode: StrategyMode,
  value: unknown,
): readonly ConfigNode[] {
  if (value === undefined) return targets;
  const { percentile = 95, min_ms: minMs = 0, max_percent: maxPercent = 5 } = record(value);
  const rule = { percentile, minMs, maxPercent } as Omit<HedgeRule, 'target'>;
  return targets.map((leaf, at) => {
    const next = mode === 'single' ? leaf : targets[at + 1];
    const target = next ?? (mode === 'loadbalance' ? targets[0]! : leaf);
    if (leaf.kind !== 'leaf' || target.kind !== 'leaf') return leaf;
    return { ...leaf, hedge: { ...rule, target } };
  });
}

function settingsOf(level: Level, above: TargetSettings): TargetSettings {
  const text = (name: string, inherited: string | null): string | null =>
    typeof level[name] === 'string' ? level[name] : inherited;
  // A target that selects its own provider must not inherit credentials from the level above.
  const pinned =
    typeof level.provider === 'string' ||
    typeof level.virtual_key === 'string' ||
    level.passthrough === true;
  const from = pinned
    ? { ...above, provider: null, virtualKey: null, apiKey: null, account: {} }
    : above;
  const account = accountFieldsIn(level);
  return {
    provider: text('provider', from.provider),
    virtualKey: text('virtual_key', from.virtualKey),
    apiKey: text('api_key', from.apiKey),
    customHost: text('custom_host', above.customHost),
    isPassthrough: (level.passthrough as boolean | undefined) ?? above.isPassthrough,
    defaultParams: merged(above.defaultParams, level.default_params),
    overrideParams: merged(above.overrideParams, level.override_params),
    dropParams: (level.drop_params as string[] | undefined) ?? above.dropParams,
    unsupported:
      (level.unsupported as TargetSettings['unsupported'] | undefined) ?? above.unsupported,
    retry: retryOf(level.retry) ?? above.retry,
    cache: cacheSettingsOf(level.cache) ?? above.cache,
    requestTimeoutMs: (level.request_timeout as number | undefined) ?? above.requestTimeoutMs,
    forwardHeaders: (level.forward_headers as string[] | undefined) ?? above.forwardHeaders,
    contextWindow: (level.context_window as number | undefined) ?? above.contextWindow,
    guardrails: guardrailsOf(level, above.guardrails),
    isStrict: (level.strict_open_ai_compliance as boolean | undefined) ?? above.isStrict,
    account: account === null ? from.account : { ...from.account, ...account },
  };
}

const noGuardrails: GuardrailSettings = {
  before_request_hooks: [],
  input_guardrails: [],
  after_request_hooks: [],
  output_guardrails: [],
};

function guardrailsOf(level: Level, above: GuardrailSettings | null): GuardrailSettings | null {
  const own = Object.keys(noGuardrails).filter((name) => Array.isArray(level[name]));
  if (own.length === 0) return above;
  const lists = Object.fromEntries(own.map((name) => [name, level[name]]));
  return { ...(above ?? noGuardrails), ...lists };
}

function merged(
  above: TargetSettings['overrideParams'],
  own: unknown,
): TargetSettings['overrideParams'] {
  if (typeof own !== 'object' || own === null) return above;
  return above === null ? (own as Level) : { ...above, ...own };
}

function retryOf(value: unknown): RetryRule | null {
  if (typeof value !== 'object' || value === null) return null;
  const retry = value as Level;
  return {
    attempts: typeof retry.attempts === 'number' ? retry.attempts : 0,
    statusCodes: codesOf(retry.on_status_codes) ?? new Set(defaultRetryCodes),
    usesRetryAfter:
      (retry.use_retry_after_headers ?? retry.use_retry_after_header ?? false) === true,
  };
}

function stickyOf(value: unknown): ConfigBranch['sticky'] {
  const sticky = record(value);
  if (sticky.enabled !== true) return null;
  const fields = Array.isArray(sticky.hash_fields) ? sticky.hash_fields.map(String) : [];
  const ttlSeconds = typeof sticky.ttl === 'number' ? sticky.ttl : defaultStickySeconds;
  return { fields, ttlSeconds };
}

function breakerOf(value: unknown): BreakerRule | null {
  if (typeof value !== 'object' || value === null) return null;
  const rule = value as Level;
  const number = (field: unknown): number | null => (typeof field === 'number' ? field : null);
  return {
    failuresMax: number(rule.failure_threshold),
    failurePercentMax: number(rule.failure_threshold_percentage),
    callsMin: number(rule.minimum_requests) ?? 0,
    cooldownMs: Math.max(number(rule.cooldown_interval) ?? 0, breakerCooldownMsMin),
    statusCodes: codesOf(rule.failure_status_codes),
  };
}

function codesOf(value: unknown): ReadonlySet<number> | null {
  return Array.isArray(value) ? new Set(value as number[]) : null;
}

function record(value: unknown): Level {
  return typeof value === 'object' && value !== null ? (value as Level) : {};
}
