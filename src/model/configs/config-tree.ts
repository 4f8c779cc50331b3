/** Knows a gateway config as the gateway walks it: a tree whose leaves say all that holds for a call. */
import type { ConfigDocument } from './config.ts';

type StrategyMode = 'single' | 'loadbalance' | 'fallback' | 'conditional';

/** How often a call is made again, and after which answers. */
export interface RetryRule {
  /** Beyond the first. */
  readonly attempts: number;
  readonly statusCodes: ReadonlySet<number>;
  /** Whether the provider says how long to wait. */
  readonly heedsRetryAfter: boolean;
}

export interface BreakerRule {
  /** Failures in a row of the window; null where only the share counts. */
  readonly failuresMax: number | null;
  /** Share of failures, 0 to 100; null where only their number counts. */
  readonly failurePercentMax: number | null;
  /** Calls below which no share is judged. */
  readonly callsMin: number;
  readonly cooldownMs: number;
  /** Null means above 500. */
  readonly statusCodes: ReadonlySet<number> | null;
}

/** Guardrails by slug or id, or written out; as a document lists them. */
type GuardrailEntries = readonly (string | Readonly<Record<string, unknown>>)[];

/** What judges a call, by the names of a document; a level that says one of them replaces it. */
export interface GuardrailSettings {
  readonly before_request_hooks: GuardrailEntries;
  readonly input_guardrails: GuardrailEntries;
  readonly after_request_hooks: GuardrailEntries;
  readonly output_guardrails: GuardrailEntries;
}

/** What holds for one call: its own settings, and those it inherits. */
export interface TargetSettings {
  readonly provider: string | null;
  readonly virtualKey: string | null;
  readonly apiKey: string | null;
  readonly customHost: string | null;
  /** The request names the provider; where it names none, the target fails. */
  readonly isPassthrough: boolean;
  readonly defaultParams: Readonly<Record<string, unknown>> | null;
  readonly overrideParams: Readonly<Record<string, unknown>> | null;
  readonly dropParams: readonly string[] | null;
  readonly retry: RetryRule | null;
  readonly cache: { readonly mode: 'simple' | 'semantic'; readonly maxAgeSeconds: number } | null;
  readonly requestTimeoutMs: number | null;
  readonly forwardHeaders: readonly string[] | null;
  /** The same object wherever it was inherited; null where nothing judges. */
  readonly guardrails: GuardrailSettings | null;
  /** Answers hold nothing but what OpenAI has. */
  readonly isStrict: boolean;
  /** Names of clouds and accounts: `azure_resource_name`, `openai_organization` and the like. */
  readonly account: Readonly<Record<string, string>>;
}

export interface Leaf {
  readonly kind: 'leaf';
  /** `config.targets[2].targets[0]`; `config` for the root. */
  readonly path: string;
  readonly weight: number;
  readonly settings: TargetSettings;
  readonly breaker: BreakerRule | null;
}

export interface Branch {
  readonly kind: 'branch';
  readonly path: string;
  readonly weight: number;
  readonly mode: StrategyMode;
  readonly targets: readonly ConfigNode[];
  /** Which answers lead to the next target; null means all but 2xx. */
  readonly onStatusCodes: ReadonlySet<number> | null;
  readonly conditions: readonly { readonly query: unknown; readonly target: ConfigNode }[];
  readonly defaultTarget: ConfigNode | null;
  readonly sticky: { readonly fields: readonly string[]; readonly ttlSeconds: number } | null;
}

export type ConfigNode = Leaf | Branch;

type Level = Readonly<Record<string, unknown>>;

const usualRetryCodes = [429, 500, 502, 503, 504, 529];
const cacheSecondsUsual = 604_800;
const stickySecondsUsual = 3_600;
const breakerCooldownMsMin = 30_000;

/** The settings of a call of which nothing is said. */
export const noSettings: TargetSettings = {
  provider: null,
  virtualKey: null,
  apiKey: null,
  customHost: null,
  isPassthrough: false,
  defaultParams: null,
  overrideParams: null,
  dropParams: null,
  retry: null,
  cache: null,
  requestTimeoutMs: null,
  forwardHeaders: null,
  guardrails: null,
  isStrict: true,
  account: {},
};

/**
 * Makes the tree of a document that `configFaults` has no fault with. What a level does not say it
 * has from the one above: parameters name by name, everything else as a whole.
 */
export function configTree(document: ConfigDocument): ConfigNode {
  return nodeOf(document, 'config', noSettings, null);
}

function nodeOf(
  level: Level,
  path: string,
  inherited: TargetSettings,
  outerBreaker: BreakerRule | null,
): ConfigNode {
  const settings = settingsOf(level, inherited);
  const strategy = record(level.strategy);
  const breaker = breakerOf(level.cb_config ?? strategy.cb_config) ?? outerBreaker;
  const weight = typeof level.weight === 'number' ? level.weight : 1;
  const levels = Array.isArray(level.targets) ? (level.targets as Level[]) : [];
  if (levels.length === 0) return { kind: 'leaf', path, weight, settings, breaker };
  const mode = (strategy.mode as StrategyMode | undefined) ?? 'single';
  const targets = levels.map((target, at) =>
    nodeOf(target, `${path}.targets[${at}]`, settings, mode === 'conditional' ? null : breaker),
  );
  const named = new Map(levels.map(({ name }, at) => [name, targets[at]!]));
  const conditions = Array.isArray(strategy.conditions) ? (strategy.conditions as Level[]) : [];
  return {
    ...{ kind: 'branch', path, weight, mode, targets },
    onStatusCodes: codesOf(strategy.on_status_codes ?? level.on_status_codes),
    conditions: conditions.flatMap(({ query, then }) => {
      const target = named.get(then);
      return target === undefined ? [] : [{ query, target }];
    }),
    defaultTarget: named.get(strategy.default) ?? null,
    sticky: stickyOf(strategy.sticky),
  };
}

function settingsOf(level: Level, above: TargetSettings): TargetSettings {
  const text = (name: string, inherited: string | null): string | null =>
    typeof level[name] === 'string' ? level[name] : inherited;
  // A target of its own provider, or of the request's, has nothing of the credentials of the one above.
  const pinned =
    typeof level.provider === 'string' ||
    typeof level.virtual_key === 'string' ||
    level.passthrough === true;
  const from = pinned
    ? { ...above, provider: null, virtualKey: null, apiKey: null, account: {} }
    : above;
  const account = accountOf(level);
  return {
    provider: text('provider', from.provider),
    virtualKey: text('virtual_key', from.virtualKey),
    apiKey: text('api_key', from.apiKey),
    customHost: text('custom_host', above.customHost),
    isPassthrough: (level.passthrough as boolean | undefined) ?? above.isPassthrough,
    defaultParams: merged(above.defaultParams, level.default_params),
    overrideParams: merged(above.overrideParams, level.override_params),
    dropParams: (level.drop_params as string[] | undefined) ?? above.dropParams,
    retry: retryOf(level.retry) ?? above.retry,
    cache: cacheOf(level.cache) ?? above.cache,
    requestTimeoutMs: (level.request_timeout as number | undefined) ?? above.requestTimeoutMs,
    forwardHeaders: (level.forward_headers as string[] | undefined) ?? above.forwardHeaders,
    guardrails: guardrailsOf(level, above.guardrails),
    isStrict: (level.strict_open_ai_compliance as boolean | undefined) ?? above.isStrict,
    account: account === null ? from.account : { ...from.account, ...account },
  };
}

const noGuardrails: GuardrailSettings = {
  ...{ before_request_hooks: [], input_guardrails: [] },
  ...{ after_request_hooks: [], output_guardrails: [] },
};

function guardrailsOf(level: Level, above: GuardrailSettings | null): GuardrailSettings | null {
  const own = Object.keys(noGuardrails).filter((name) => Array.isArray(level[name]));
  if (own.length === 0) return above;
  const lists = Object.fromEntries(own.map((name) => [name, level[name]]));
  return { ...(above ?? noGuardrails), ...lists };
}

const accountFields =
  /^(?:aws_|vertex_|azure_|openai_|anthropic_)|^(?:resource_name|deployment_id|api_version)$/;

/** What a document says of an account at a provider; null for nothing. */
export function accountOf(level: Level): Record<string, string> | null {
  const found = Object.entries(level).filter(
    (entry): entry is [string, string] =>
      accountFields.test(entry[0]) && typeof entry[1] === 'string',
  );
  return found.length === 0 ? null : Object.fromEntries(found);
}

function merged(
  above: TargetSettings['overrideParams'],
  own: unknown,
): TargetSettings['overrideParams'] {
  if (typeof own !== 'object' || own === null) return above;
  return above === null ? (own as Level) : { ...above, ...own };
}

function retryOf(given: unknown): RetryRule | null {
  if (typeof given !== 'object' || given === null) return null;
  const retry = given as Level;
  return {
    attempts: typeof retry.attempts === 'number' ? retry.attempts : 0,
    statusCodes: codesOf(retry.on_status_codes) ?? new Set(usualRetryCodes),
    heedsRetryAfter:
      (retry.use_retry_after_headers ?? retry.use_retry_after_header ?? false) === true,
  };
}

function cacheOf(given: unknown): TargetSettings['cache'] {
  if (given === 'simple' || given === 'semantic') {
    return { mode: given, maxAgeSeconds: cacheSecondsUsual };
  }
  if (typeof given !== 'object' || given === null) return null;
  const { mode, max_age: maxAge } = given as Level;
  return {
    mode: mode === 'semantic' ? 'semantic' : 'simple',
    maxAgeSeconds: typeof maxAge === 'number' ? maxAge : cacheSecondsUsual,
  };
}

function stickyOf(given: unknown): Branch['sticky'] {
  const sticky = record(given);
  if (sticky.enabled !== true) return null;
  const fields = Array.isArray(sticky.hash_fields) ? sticky.hash_fields.map(String) : [];
  const ttlSeconds = typeof sticky.ttl === 'number' ? sticky.ttl : stickySecondsUsual;
  return { fields, ttlSeconds };
}

function breakerOf(given: unknown): BreakerRule | null {
  if (typeof given !== 'object' || given === null) return null;
  const rule = given as Level;
  const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  return {
    failuresMax: number(rule.failure_threshold),
    failurePercentMax: number(rule.failure_threshold_percentage),
    callsMin: number(rule.minimum_requests) ?? 0,
    cooldownMs: Math.max(number(rule.cooldown_interval) ?? 0, breakerCooldownMsMin),
    statusCodes: codesOf(rule.failure_status_codes),
  };
}

function codesOf(given: unknown): ReadonlySet<number> | null {
  return Array.isArray(given) ? new Set(given as number[]) : null;
}

function record(value: unknown): Level {
  return typeof value === 'object' && value !== null ? (value as Level) : {};
}
