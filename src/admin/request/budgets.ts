/** Knows how the budget written on an API key, workspace or policy becomes a counter with a schedule. */

import { newId } from '../../model/ids.ts';
import { type LimitTerms, toMicros } from '../../model/limits.ts';
import { nextResetAt, startOfDay } from '../../model/periods.ts';
import { parseTimestamp } from '../../model/timestamp.ts';
import { validationError } from '../../model/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as usageEntities from '../../store/tables/usage-entities.ts';

/** A budget as sent, its schema's rules already checked. */
export type Budget = LimitTerms & { readonly credit_limit: number };

/** Makes the counter of a key or workspace that begins with a budget. */
export async function openBudget(
  tx: Db,
  subject: usageEntities.UsageSubject,
  budget: Budget,
  now: number,
): Promise<void> {
  const terms = termsOf(budget);
  await usageEntities.insert(tx, {
    id: newId(),
    organisation_id: subject.organisationId,
    subject_kind: subject.kind,
    subject_id: subject.id,
    value_key: '',
    credit_limit_micros: terms.creditLimitMicros,
    alert_threshold_micros: terms.alertThresholdMicros,
    used_micros: 0,
    reserved_micros: 0,
    status: terms.creditLimitMicros > 0 ? 'active' : 'exhausted',
    threshold_alert_sent: 0,
    exhausted_alert_sent: 0,
    ...scheduleOf(budget, now),
    last_reset_at: null,
    created_at: now,
  });
}

/**
 * Brings the counter of a key or workspace from one budget to another; null is no budget. The
 * running period goes on unless the schedule itself was changed, so that repeating an update
 * postpones nothing.
 */
export async function changeBudget(
  tx: Db,
  subject: usageEntities.UsageSubject,
  change: { before: Budget | null; after: Budget | null },
  now: number,
): Promise<void> {
  const { before, after } = change;
  if (after === null) return usageEntities.deleteBySubject(tx, subject);
  if (before === null) return openBudget(tx, subject, after, now);
  await usageEntities.updateTerms(tx, subject, termsOf(after));
  if (!sameSchedule(before, after)) {
    await usageEntities.updateSchedule(tx, subject, scheduleOf(after, now));
  }
}

/** Micro-units of a budget's limit and threshold. */
export function termsOf(
  budget: Pick<Budget, 'credit_limit' | 'alert_threshold'>,
): usageEntities.UsageTerms {
  const { credit_limit: limit, alert_threshold: threshold } = budget;
  return {
    creditLimitMicros: toMicros(limit),
    alertThresholdMicros: typeof threshold === 'number' ? toMicros(threshold) : null,
  };
}

/** The columns of a schedule and its first boundary after `now`. */
export function scheduleOf(terms: LimitTerms, now: number): usageEntities.UsageSchedule {
  const schedule = {
    periodicReset: terms.periodic_reset ?? null,
    periodicResetDays: terms.periodic_reset_days ?? null,
  };
  const given = terms.next_usage_reset_at;
  const first = typeof given === 'string' ? startOfDay(parseTimestamp(given)) : null;
  return {
    periodic_reset: schedule.periodicReset,
    periodic_reset_days: schedule.periodicResetDays,
    next_reset_at: first !== null && first > now ? first : nextResetAt(schedule, first, now),
  };
}

/**
 * Refuses to begin with a first reset that has passed already. (An update may repeat one: the
 * schedule then runs on from it.)
 *
 * @throws ApiError `invalid`.
 */
export function requireFutureReset(
  terms: LimitTerms,
  now: number,
  path: readonly (string | number)[] = [],
): void {
  const first = terms.next_usage_reset_at;
  if (typeof first !== 'string' || parseTimestamp(first) > now) return;
  const message = 'must lie in the future';
  throw validationError({ path: [...path, 'next_usage_reset_at'], message });
}

function sameSchedule(one: LimitTerms, other: LimitTerms): boolean {
  const fields = ['periodic_reset', 'periodic_reset_days', 'next_usage_reset_at'] as const;
  return fields.every((field) => (one[field] ?? null) === (other[field] ?? null));
}
