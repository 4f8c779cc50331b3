/** Parses the claims of a token: tenant, scopes, defaults and limits. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { BudgetTerms, RateTerms } from '../../ledger/request-limits.ts';
import { RateLimits, UsageLimits } from '../../model/limits/key-limits.ts';
import { toUnits } from '../../model/limits/limits.ts';
import { nextResetAt, startOfDay } from '../../model/limits/periods.ts';
import { isKnownScope } from '../../model/people/scopes.ts';
import { parseTimestamp } from '../../model/wire/timestamp.ts';
import type { LimitTerms } from './limit-terms.ts';

const scope = z.string().refine(isKnownScope, 'is no scope');
const reference = z.string().min(1).max(255);

/** The claims that the gateway reads (docs/reference/inference.md, Tokens); others are ignored. */
const TokenClaims = z
  .object({
    exp: z.number(),
    iss: z.string().optional(),
    aud: z.union([z.string(), z.array(z.string())]).optional(),
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
      fault('organisation_id', 'is missing, and tsg_id as well');
    }
    if ((claims.workspace_id ?? claims.workspace_slug) === undefined) {
      fault('workspace_slug', 'is missing, and workspace_id as well');
    }
    const limits = claims.usage_limits ?? claims.rate_limits;
    if (limits !== undefined && claims.sub === undefined) {
      fault('sub', 'is missing; it identifies the subject whose usage is limited');
    }
  });

export type TokenClaims = z.infer<typeof TokenClaims>;

/** Returns the claims, or the fault of the first invalid one. */
export function readClaims(payload: unknown): TokenClaims | { readonly fault: string } {
  const { data, error } = TokenClaims.safeParse(payload);
  if (data !== undefined) return data;
  const { path, message } = error.issues[0]!;
  return { fault: `${path.join('.')} ${message}` };
}

/** Reads scopes from a list, or from a space-separated text as in OAuth; unknown names are ignored. */
export function scopesOf(
  { scopes, scope: text }: TokenClaims,
  byDefault: readonly string[],
): readonly string[] {
  return scopes ?? text?.split(' ').filter(isKnownScope) ?? byDefault;
}

export interface TokenTenant {
  readonly organisationId: string;
  readonly workspaceId: string;
}

/** Returns the same id for all tokens of one subject in one workspace, so that their usage is counted together. */
export function subjectIdOf(tenant: TokenTenant, { iss, sub }: TokenClaims, use = ''): string {
  const parts = [tenant.organisationId, tenant.workspaceId, iss ?? '', sub ?? '', use];
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  // A UUID of version 8 (RFC 9562), which is for custom schemes.
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join('-');
}

/** Returns the limits in the claims of a token. */
export function termsOfToken(tenant: TokenTenant, claims: TokenClaims): LimitTerms {
  const { usage_limits: usage, rate_limits: rates, sub } = claims;
  const label = `token of ${sub}`;
  const subject = { organisationId: tenant.organisationId, subjectKind: 'token' as const, label };
  const budgets: BudgetTerms[] = [];
  if (usage !== undefined) {
    const { type = 'cost', credit_limit: limit, alert_threshold: threshold } = usage;
    budgets.push({
      ...subject,
      type,
      window: windowOf(usage),
      // Separate subjects, because dollars and tokens must not share a counter.
      subjectId: subjectIdOf(tenant, claims, type),
      limitUnits: toUnits(limit, type),
      alertThresholdUnits: typeof threshold === 'number' ? toUnits(threshold, type) : null,
      outageUnits: toUnits(usage.on_outage_allowance ?? 0, type),
    });
  }
  const limited: RateTerms[] =
    rates === undefined || rates.length === 0
      ? []
      : [{ ...subject, subjectId: subjectIdOf(tenant, claims), limits: rates }];
  return { budgets, rates: limited };
}

/**
 * Derives the windows from the claims, because nothing is stored for a token. Windows start at the boundaries of
 * the schedule; windows of n days are counted from the first reset, or from the epoch.
 */
function windowOf(usage: UsageLimits): BudgetTerms['window'] {
  const periodicReset = usage.periodic_reset ?? null;
  const periodicResetDays = usage.periodic_reset_days ?? null;
  const first = usage.next_usage_reset_at ?? null;
  const schedule = { periodicReset, periodicResetDays };
  return {
    periodic_reset: periodicReset,
    periodic_reset_days: periodicResetDays,
    window_start: 0,
    last_reset_at: null,
    next_reset_at: first === null ? nextResetAt(schedule, 0, 0) : startOfDay(parseTimestamp(first)),
  };
}
