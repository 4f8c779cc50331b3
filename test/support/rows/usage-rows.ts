/** Builds budgets, policies and counters for tests that write their rows directly. */
import { randomUUID } from 'node:crypto';
import type { Limit } from '../../../src/ledger/limit.ts';
import { idFromBytes, idToBytes } from '../../../src/model/wire/ids.ts';
import type { Db } from '../../../src/store/connection/db.ts';
import { serverNowMs } from '../../../src/store/connection/server-time.ts';
import type { StoredUsageLimitPolicy } from '../../../src/store/resources/usage-limit-policies.ts';
import type { StoredUsageBudget } from '../../../src/store/usage/usage-budgets.ts';
import {
  type CountedKind,
  counterId,
  type UsageSubject,
} from '../../../src/store/usage/usage-counters.ts';
import { apiKeyRow, insertApiKeys } from './api-key-row.ts';
import { insertWorkspace } from './workspace-row.ts';

/**
 * Inserts a key's weekly budget of 100 dollars, in a window that began at 0 and never ends,
 * overridden by `fields`.
 */
export async function insertBudget(
  db: Db,
  organisationId: string,
  fields: Partial<StoredUsageBudget> = {},
): Promise<UsageSubject> {
  const row = {
    organisation_id: organisationId,
    subject_kind: 'api_key' as const,
    subject_id: randomUUID(),
    workspace_id: null,
    type: 'cost' as const,
    credit_limit_units: 100_000_000,
    alert_threshold_units: null,
    periodic_reset: 'weekly' as const,
    periodic_reset_days: null,
    window_start: 0,
    next_reset_at: null,
    last_reset_at: null,
    created_at: 0,
    ...fields,
  };
  if (fields.subject_id === undefined) await insertSubject(db, row);
  await db.insertInto('usage_budgets').values(row).execute();
  return { organisationId, kind: row.subject_kind, id: row.subject_id };
}

/** Inserts a budget, and returns it as a hard limit of 1,000 tokens, overridden by `fields`. */
export async function insertLimit(
  db: Db,
  organisationId: string,
  fields: Partial<Limit> = {},
): Promise<Limit> {
  const { id } = await insertBudget(db, organisationId);
  return {
    organisationId,
    subjectKind: 'api_key',
    subjectId: id,
    windowStart: 0,
    endsAt: null,
    valueKey: '',
    type: 'tokens',
    limitUnits: 1_000,
    alertThresholdUnits: null,
    isRate: false,
    isHard: true,
    label: 'API key ci',
    ...fields,
  };
}

async function insertSubject(
  db: Db,
  row: Pick<StoredUsageBudget, 'organisation_id' | 'subject_kind' | 'subject_id' | 'workspace_id'>,
): Promise<void> {
  const { organisation_id, subject_kind: kind, subject_id: id, workspace_id } = row;
  if (workspace_id !== null) await insertWorkspace(db, organisation_id, workspace_id);
  if (kind === 'workspace') await insertWorkspace(db, organisation_id, id);
  else await insertApiKeys(db, [apiKeyRow({ id, organisation_id, workspace_id })]);
}

/**
 * Inserts a weekly policy over 100 dollars, in a window that began at 0 and never ends, overridden
 * by `fields`.
 */
export async function insertPolicy(
  db: Db,
  organisationId: string,
  fields: Partial<Omit<StoredUsageLimitPolicy, 'version'>> = {},
): Promise<UsageSubject> {
  const row = {
    id: randomUUID(),
    organisation_id: organisationId,
    workspace_id: null,
    name: null,
    description: null,
    conditions: '[]',
    group_by: '[]',
    type: 'cost' as const,
    credit_limit_units: 100_000_000,
    alert_threshold_units: null,
    periodic_reset: 'weekly' as const,
    periodic_reset_days: null,
    first_reset_at: null,
    window_start: 0,
    next_reset_at: null,
    last_reset_at: null,
    status: 'active' as const,
    created_at: 0,
    last_updated_at: 0,
    ...fields,
  };
  await db.insertInto('usage_limit_policies').values(row).execute();
  return { organisationId, kind: 'policy', id: row.id };
}

/** Inserts a counter as the ledger does; returns its id. */
export async function insertCounter(
  db: Db,
  subject: UsageSubject,
  counter: {
    readonly windowStart: number;
    readonly used: number | bigint;
    readonly valueKey?: string;
    readonly reserved?: number;
  },
): Promise<string> {
  const id = counterId(subject.id, counter.valueKey ?? '');
  await db
    .insertInto('usage_counters')
    .values({
      organisation_id: subject.organisationId,
      subject_kind: subject.kind,
      subject_id: idToBytes(subject.id),
      window_start: counter.windowStart,
      id: idToBytes(id),
      value_key: counter.valueKey ?? '',
      used_units: String(counter.used),
      reserved_units: counter.reserved ?? 0,
      threshold_alert_units: null,
      exhausted_alert_units: null,
      last_reset_at: null,
    })
    .execute();
  return id;
}

/** Units counted for a key under budgets, in all windows. */
export async function keyUnits(db: Db, keyId: string): Promise<number> {
  const rows = await db
    .selectFrom('usage_counters')
    .select('used_units')
    .where('subject_kind', '=', 'api_key')
    .where('subject_id', '=', idToBytes(keyId))
    .execute();
  return rows.reduce((sum, row) => sum + Number(row.used_units), 0);
}

/** Inserts the row that a reset leaves of an ended window. */
export async function endWindow(
  db: Db,
  subject: UsageSubject,
  windowStart: number,
  endedAt: number,
): Promise<void> {
  await db
    .insertInto('usage_windows')
    .values({
      organisation_id: subject.organisationId,
      subject_kind: subject.kind,
      subject_id: idToBytes(subject.id),
      window_start: windowStart,
      ended_at: endedAt,
      closed_at: endedAt,
      skipped_windows: 0,
    })
    .execute();
}

/** Ended windows, oldest first, with their ids as text. */
export async function endedWindows(db: Db): Promise<
  {
    subject_kind: CountedKind;
    subject_id: string;
    window_start: number;
    ended_at: number;
    closed_at: number;
    skipped_windows: number;
  }[]
> {
  const rows = await db.selectFrom('usage_windows').selectAll().orderBy('window_start').execute();
  return rows.map(({ organisation_id: _, ...row }) => ({
    ...row,
    subject_id: idFromBytes(row.subject_id),
  }));
}

/** Makes processes return their idle units, as if another one had run short. */
export async function recallSlices(db: Db): Promise<void> {
  await db.updateTable('usage_counters').set({ wanted_at: serverNowMs }).execute();
  await db.updateTable('rate_counters').set({ wanted_at: serverNowMs }).execute();
}
