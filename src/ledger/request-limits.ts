/** Computes the limits of a request: of its key, workspace and provider, and of matching policies. */
import { createHash } from 'node:crypto';
import type { RateLimit, UsageType } from '../model/limits/limits.ts';
import type { GroupBy, PolicyCondition } from '../model/limits/policy.ts';
import { type WindowColumns, windowAt } from '../store/usage/usage-budgets.ts';
import type { CountedKind } from '../store/usage/usage-counters.ts';
import type { Limit } from './limit.ts';

/** The subject of a budget or rate limit. */
export interface LimitSubject {
  readonly organisationId: string;
  readonly subjectKind: CountedKind;
  readonly subjectId: string;
  /** For example `API key ci`. */
  readonly label: string;
  /** Distinguishes subjects that share a limit but have their own counters; '' for a single subject. */
  readonly valueKey?: string;
}

/** A budget as stored. */
export interface BudgetTerms extends LimitSubject {
  readonly type: UsageType;
  readonly limitUnits: number;
  readonly alertThresholdUnits: number | null;
  /** Units that each gateway may use beyond its slices while the database is unavailable. */
  readonly outageUnits: number;
  readonly window: WindowColumns;
}

export interface RateTerms extends LimitSubject {
  readonly limits: readonly Pick<RateLimit, 'type' | 'unit' | 'value'>[];
}

/** A policy: a budget or a rate limit for each value of its groups. */
export interface PolicyTerms {
  readonly conditions: readonly PolicyCondition[];
  readonly groupBy: readonly GroupBy[number][];
  /** Null for policies of the whole organisation. */
  readonly workspaceId: string | null;
  readonly terms: BudgetTerms | RateTerms;
}

/** Values that policy conditions can match, by key (`api_key`, `model`, `metadata.team`); each with all its names. */
export type RequestFacts = ReadonlyMap<string, readonly string[]>;

/** Cached limits of ungrouped terms, which all requests of a window share. */
const ungroupedLimits = new WeakMap<BudgetTerms | RateTerms, readonly Limit[]>();

function isCurrent({ windowStart, endsAt }: Limit, now: number): boolean {
  return windowStart <= now && (endsAt === null || now < endsAt);
}

/** Returns the limits for one group value of a policy, or for the subject itself. */
function limitsAt<T extends BudgetTerms | RateTerms>(
  make: (terms: T, value: string, now: number, isHard: boolean) => readonly Limit[],
  terms: T,
  value: string,
  now: number,
  isHard: boolean,
): readonly Limit[] {
  if (value !== (terms.valueKey ?? '')) return make(terms, value, now, isHard);
  const cached = ungroupedLimits.get(terms);
  if (cached?.every((limit) => limit.isHard === isHard && isCurrent(limit, now))) return cached;
  const limits = make(terms, value, now, isHard);
  ungroupedLimits.set(terms, limits);
  return limits;
}

/** Returns the limit of a budget in the current window. */
export function limitOfBudget(
  terms: BudgetTerms,
  valueKey: string,
  now: number,
  isHard: boolean,
): Limit {
  return limitsAt(budgetLimits, terms, valueKey, now, isHard)[0]!;
}

function budgetLimits(
  terms: BudgetTerms,
  valueKey: string,
  now: number,
  isHard: boolean,
): readonly Limit[] {
  const { organisationId, subjectKind, subjectId, label, type, limitUnits } = terms;
  const { alertThresholdUnits, outageUnits } = terms;
  const { startMs, nextResetAtMs } = windowAt(terms.window, now);
  const one: Limit = {
    organisationId,
    subjectKind,
    subjectId,
    label,
    type,
    limitUnits,
    alertThresholdUnits,
    outageUnits,
    windowStart: startMs,
    endsAt: nextResetAtMs,
    valueKey,
    isRate: false,
    isHard,
  };
  return [one];
}

const unitMs = {
  rps: 1_000,
  rpm: 60_000,
  rph: 3_600_000,
  rpd: 86_400_000,
  rpw: 7 * 86_400_000,
} as const;
/** The epoch was a Thursday; weeks begin on Mondays. */
const mondayMs = 4 * 86_400_000;

/** Returns the rate limits of one subject in the current windows. */
export function limitsOfRates(
  terms: RateTerms,
  value: string,
  now: number,
  isHard: boolean,
): readonly Limit[] {
  return limitsAt(rateLimits, terms, value, now, isHard);
}

function rateLimits(
  terms: RateTerms,
  value: string,
  now: number,
  isHard: boolean,
): readonly Limit[] {
  const { organisationId, subjectKind, subjectId, label } = terms;
  return terms.limits.map(({ type, unit, value: limitUnits }) => {
    const lengthMs = unitMs[unit];
    const offsetMs = unit === 'rpw' ? mondayMs : 0;
    const windowStart = now - ((now - offsetMs) % lengthMs);
    const valueKey = value === '' ? `${type} ${unit}` : `${value} ${type} ${unit}`;
    return {
      organisationId,
      subjectKind,
      subjectId,
      label,
      type,
      limitUnits,
      isHard,
      valueKey,
      windowStart,
      endsAt: windowStart + lengthMs,
      alertThresholdUnits: null,
      isRate: true,
    };
  });
}

/** Returns the limits of a policy for the group value of the request; none when its conditions do not match. */
export function limitsOfPolicy(
  policy: PolicyTerms,
  facts: RequestFacts,
  now: number,
  isHard: boolean,
): readonly Limit[] {
  if (!policy.conditions.every((condition) => isMet(condition, facts))) return [];
  const value = groupValue(policy.groupBy, facts);
  const { terms } = policy;
  return 'limits' in terms
    ? limitsOfRates(terms, value, now, isHard)
    : [limitOfBudget(terms, value, now, isHard)];
}

/** For example `metadata._user:bob`, comma-separated; a missing value counts as empty. */
function groupValue(groups: PolicyTerms['groupBy'], facts: RequestFacts): string {
  const text = groups.map(({ key }) => `${key}:${facts.get(key)?.[0] ?? ''}`).join(',');
  if (text.length <= valueLengthMax) return text;
  // Long values may differ only beyond the length of the column, so a hash is added.
  const hash = createHash('sha256').update(text).digest('base64url');
  return `${text.slice(0, valueLengthMax - hash.length - 1)}#${hash}`;
}

const valueLengthMax = 480;

function isMet({ key, value, excludes }: PolicyCondition, facts: RequestFacts): boolean {
  const names = facts.get(key) ?? [];
  const isIn = [value].flat().some((pattern) => names.some((name) => matches(pattern, name)));
  if (!isIn || excludes === undefined) return isIn;
  return ![excludes].flat().some((pattern) => names.some((name) => matches(pattern, name)));
}

/** A trailing `*` matches anything: `@openai/*`. */
function matches(pattern: string, name: string): boolean {
  if (!pattern.endsWith('*')) return pattern === name;
  return name.startsWith(pattern.slice(0, -1));
}
