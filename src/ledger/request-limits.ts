/** Knows which limits a request is under: of its key, workspace and provider, and of the policies whose conditions it meets. */
import { createHash } from 'node:crypto';
import type { RateLimit, UsageType } from '../model/limits/limits.ts';
import type { PolicyCondition, GroupBy } from '../model/limits/policy.ts';
import { type WindowColumns, windowAt } from '../store/usage/usage-budgets.ts';
import type { CountedKind } from '../store/usage/usage-counters.ts';
import type { Limit } from './limit.ts';

/** Whose a budget or rate limit is. */
export interface LimitSubject {
  readonly organisationId: string;
  readonly subjectKind: CountedKind;
  readonly subjectId: string;
  /** `API key ci`. */
  readonly label: string;
  /** Whose of those that have the limit alike, each with a counter of its own; '' where it is one's alone. */
  readonly valueKey?: string;
}

/** A budget as its row says it. */
export interface BudgetTerms extends LimitSubject {
  readonly type: UsageType;
  readonly limitUnits: number;
  readonly alertThresholdUnits: number | null;
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

/** What policies may ask of a request: `api_key`, `model`, `metadata.team` …; each by all the names it goes by. */
export type RequestFacts = ReadonlyMap<string, readonly string[]>;

/** By their terms, for the many requests of a window; those of groups differ from request to request. */
const ungrouped = new WeakMap<BudgetTerms | RateTerms, readonly Limit[]>();

function isOfNow({ windowStart, endsAt }: Limit, now: number): boolean {
  return windowStart <= now && (endsAt === null || now < endsAt);
}

/** `value` of the groups of a policy, or of the subject itself. */
function limitsAt<T extends BudgetTerms | RateTerms>(
  make: (terms: T, value: string, now: number, isHard: boolean) => readonly Limit[],
  terms: T,
  value: string,
  now: number,
  isHard: boolean,
): readonly Limit[] {
  if (value !== (terms.valueKey ?? '')) return make(terms, value, now, isHard);
  const known = ungrouped.get(terms);
  if (known?.every((limit) => limit.isHard === isHard && isOfNow(limit, now))) return known;
  const made = make(terms, value, now, isHard);
  ungrouped.set(terms, made);
  return made;
}

/** The limit of a budget in the window that `now` lies in. */
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
  const { organisationId, subjectKind, subjectId, label, type, limitUnits, alertThresholdUnits } =
    terms;
  const { startMs, nextResetAtMs } = windowAt(terms.window, now);
  const one: Limit = {
    organisationId,
    subjectKind,
    subjectId,
    label,
    type,
    limitUnits,
    alertThresholdUnits,
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

/** The limits of one subject in the windows that `now` lies in. */
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

/** The limits of a policy that a request meets: none, or those of the value that its groups have. */
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

/** `metadata._user:bob`, with a comma between groups; a request without a value counts under an empty one. */
function groupValue(groups: PolicyTerms['groupBy'], facts: RequestFacts): string {
  const text = groups.map(({ key }) => `${key}:${facts.get(key)?.[0] ?? ''}`).join(',');
  if (text.length <= valueLengthMax) return text;
  // What two long values differ in may lie beyond what the column holds.
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

/** A `*` at the end of a pattern stands for anything: `@openai/*`. */
function matches(pattern: string, name: string): boolean {
  if (!pattern.endsWith('*')) return pattern === name;
  return name.startsWith(pattern.slice(0, -1));
}
