/** Knows what a token says of its caller: where it belongs, what it may, and what its requests start from. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { BudgetTerms, RateTerms } from '../../ledger/limits-of-request.ts';
import { RateLimits, UsageLimits } from '../../model/limits/key-limits.ts';
import { toUnits } from '../../model/limits/limits.ts';
import { nextResetAt, startOfDay } from '../../model/limits/periods.ts';
import { isKnownScope } from '../../model/people/scopes.ts';
import { parseTimestamp } from '../../model/wire/timestamp.ts';
import type { LimitTerms } from './limit-terms.ts';

const scope = z.string().refine(isKnownScope, 'is no scope');
const reference = z.string().min(1).max(255);

/** What counts of the payload (docs/reference/inference.md, Tokens); what else it says is left alone. */
const TokenClaims = z
  .object({
    exp: z.number(),
    iss: z.string().optional(),
    sub: z.string().min(1).max(255).optional(),
    organisation_id: z.uuid().optional(),
    tsg_id: z
      .string()
      .regex(/^\d{10}$/)
      .optional(),
    workspace_id: reference.optional(),
    workspace_slug: reference.optional(),
    scopes: z.array(scope).optional(),
    scope: z.string().optional(),
    defaults: z
      .object({
        metadata: z.record(z.string(), z.unknown()).optional(),
        config_id: reference.optional(),
        allow_config_override: z.boolean().optional(),
      })
      .optional(),
    usage_limits: UsageLimits.optional(),
    rate_limits: RateLimits.optional(),
  })
  .superRefine((claims, context) => {
    const fault = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    if ((claims.organisation_id ?? claims.tsg_id) === undefined) {
      fault('organisation_id', 'is missing, and so is tsg_id');
    }
    if ((claims.workspace_id ?? claims.workspace_slug) === undefined) {
      fault('workspace_slug', 'is missing, and so is workspace_id');
    }
    const limits = claims.usage_limits ?? claims.rate_limits;
    if (limits !== undefined && claims.sub === undefined) {
      fault('sub', 'is missing: it says whose usage the limits of the token count');
    }
  });

export type TokenClaims = z.infer<typeof TokenClaims>;

/** The claims, or what is wrong with the first that is. */
export function readClaims(payload: unknown): TokenClaims | { readonly fault: string } {
  const { data, error } = TokenClaims.safeParse(payload);
  if (data !== undefined) return data;
  const { path, message } = error.issues[0]!;
  return { fault: `${path.join('.')} ${message}` };
}

/** Scopes of a token: a list, or names between spaces as OAuth has them; of others among them nothing is thought. */
export function scopesOf(
  { scopes, scope: text }: TokenClaims,
  byDefault: readonly string[],
): readonly string[] {
  return scopes ?? text?.split(' ').filter(isKnownScope) ?? byDefault;
}

/** Whose token it is. */
export interface TokenPlace {
  readonly organisationId: string;
  readonly workspaceId: string;
}

/** The same for every token of one subject in one workspace, so that its requests count together. */
export function subjectIdOf(place: TokenPlace, { iss, sub }: TokenClaims, use = ''): string {
  const parts = [place.organisationId, place.workspaceId, iss ?? '', sub ?? '', use];
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  // Version 8 (RFC 9562): made by a rule of our own.
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join('-');
}

/** The limits that a token brings along. */
export function termsOfToken(place: TokenPlace, claims: TokenClaims): LimitTerms {
  const { usage_limits: usage, rate_limits: rates, sub } = claims;
  const label = `token of ${sub}`;
  const subject = { organisationId: place.organisationId, subjectKind: 'token' as const, label };
  const budgets: BudgetTerms[] = [];
  if (usage !== undefined) {
    const { type = 'cost', credit_limit: limit, alert_threshold: threshold } = usage;
    budgets.push({
      ...{ ...subject, type, window: windowOf(usage) },
      // Dollars and tokens are never counted together.
      subjectId: subjectIdOf(place, claims, type),
      limitUnits: toUnits(limit, type),
      alertThresholdUnits: typeof threshold === 'number' ? toUnits(threshold, type) : null,
    });
  }
  const limited: RateTerms[] =
    rates === undefined || rates.length === 0
      ? []
      : [{ ...subject, subjectId: subjectIdOf(place, claims), limits: rates }];
  return { budgets, rates: limited };
}

/**
 * Nothing is stored of a token, so its windows follow from what it says: they begin at the boundaries
 * of its schedule, those of so many days counted from its first reset or from the epoch.
 */
function windowOf(usage: UsageLimits): BudgetTerms['window'] {
  const periodicReset = usage.periodic_reset ?? null;
  const periodicResetDays = usage.periodic_reset_days ?? null;
  const first = usage.next_usage_reset_at ?? null;
  const schedule = { periodicReset, periodicResetDays };
  return {
    ...{ periodic_reset: periodicReset, periodic_reset_days: periodicResetDays },
    ...{ window_start: 0, last_reset_at: null },
    next_reset_at: first === null ? nextResetAt(schedule, 0, 0) : startOfDay(parseTimestamp(first)),
  };
}
