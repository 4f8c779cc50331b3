/** Knows how usage starts again: every budget and policy whose boundary has come, once a boundary. */
import { nextResetAt, skippedWindows } from '../model/periods.ts';
import type { Db } from '../store/connection/db.ts';
import { type AuditEntry, type AuditTrail, auditTrail } from '../store/tables/audit-log.ts';
import type { UsageResetRow } from '../store/tables/usage-resets.ts';
import * as usageResets from '../store/tables/usage-resets.ts';
import type { Job, JobContext } from './job.ts';

const batchBudgetsMax = 500;
const batchPoliciesMax = 100;

const resourceKinds = {
  api_key: 'ApiKey',
  workspace: 'Workspace',
  policy: 'UsageLimitPolicy',
} as const;

interface Options {
  readonly usageLimits: boolean;
  readonly auditLogs: boolean;
}

export function resetUsage({ usageLimits, auditLogs }: Options): Job {
  const audit = auditTrail(auditLogs);
  return {
    name: 'reset-usage',
    cron: '* * * * *',
    summary: 'Starts the usage of API keys, workspaces and policies again when their period ends',
    idleBecause: usageLimits ? null : 'USAGE_LIMITS_ENABLED is OFF',
    run: async (context) => {
      const total = { keys: 0, workspaces: 0, policies: 0, skippedWindows: 0 };
      const add = (resets: readonly UsageResetRow[]): void => {
        for (const reset of resets) {
          total[countNames[reset.subject_kind as keyof typeof countNames]] += 1;
          total.skippedWindows += reset.skipped_windows;
        }
      };
      await resetBudgets(context, audit, add);
      await resetPolicies(context, audit, add);
      return total;
    },
  };
}

const countNames = { api_key: 'keys', workspace: 'workspaces', policy: 'policies' } as const;

async function resetBudgets(
  { db, transaction, now, signal }: JobContext,
  audit: AuditTrail,
  add: (resets: readonly UsageResetRow[]) => void,
): Promise<void> {
  while (!signal.aborted) {
    const ids = await usageResets.listDueBudgetIds(db, now, batchBudgetsMax);
    if (ids.length === 0) return;
    add(await transaction((tx) => resetBudgetBatch(tx, ids, now, audit)));
  }
}

async function resetBudgetBatch(
  tx: Db,
  ids: readonly string[],
  now: number,
  audit: AuditTrail,
): Promise<UsageResetRow[]> {
  const due = await usageResets.listDueBudgetsForUpdate(tx, ids, now);
  const planned = due.map((budget) => ({ id: budget.id, reset: planReset(budget, now) }));
  const applied = await usageResets.listAppliedKeys(
    tx,
    planned.map(({ reset }) => reset),
  );
  const isRepeated = ({ reset }: { reset: UsageResetRow }): boolean =>
    applied.has(usageResets.boundaryKey(reset));
  for (const group of groupByMove(planned)) {
    const { boundary_at: boundaryAt, next_reset_at: nextResetAt } = group[0]!.reset;
    const [repeated, fresh] = [group.filter(isRepeated), group.filter((one) => !isRepeated(one))];
    const move = { boundaryAt, nextResetAt };
    await usageResets.updateBudgets(tx, idsOf(fresh), { ...move, emptiedAt: now });
    await usageResets.updateBudgets(tx, idsOf(repeated), { ...move, emptiedAt: null });
  }
  const resets = planned.filter((one) => !isRepeated(one)).map(({ reset }) => reset);
  await usageResets.insertMany(tx, resets);
  const subjects = (kind: string): string[] =>
    resets.filter((reset) => reset.subject_kind === kind).map((reset) => reset.subject_id);
  const workspaceOfKey = await usageResets.updateKeys(tx, subjects('api_key'), now);
  await usageResets.updateWorkspaces(tx, subjects('workspace'), now);
  const workspaceOf = (reset: UsageResetRow): string | null =>
    reset.subject_kind === 'workspace'
      ? reset.subject_id
      : (workspaceOfKey.get(reset.subject_id) ?? null);
  await audit(tx, entriesOf(resets, workspaceOf));
  return resets;
}

async function resetPolicies(
  { db, transaction, now, signal }: JobContext,
  audit: AuditTrail,
  add: (resets: readonly UsageResetRow[]) => void,
): Promise<void> {
  while (!signal.aborted) {
    const ids = await usageResets.listDuePolicyIds(db, now, batchPoliciesMax);
    if (ids.length === 0) return;
    for (const id of ids) {
      if (signal.aborted) return;
      add(await transaction((tx) => resetPolicy(tx, id, now, audit)));
    }
  }
}

/** Empty when another replica was faster. */
async function resetPolicy(
  tx: Db,
  id: string,
  now: number,
  audit: AuditTrail,
): Promise<UsageResetRow[]> {
  const policy = await usageResets.findDuePolicyForUpdate(tx, id, now);
  if (policy === undefined) return [];
  const subject = { subject_kind: 'policy', subject_id: policy.id };
  const planned = planReset({ ...policy, ...subject, used_micros: 0 }, now);
  const applied = await usageResets.listAppliedKeys(tx, [planned]);
  if (applied.size > 0) {
    await usageResets.updatePolicy(tx, policy, planned.next_reset_at, null);
    return [];
  }
  const used = await usageResets.updatePolicyEntities(tx, policy.id, now);
  const reset = { ...planned, used_micros: used };
  await usageResets.updatePolicy(tx, policy, reset.next_reset_at, now);
  await usageResets.insertMany(tx, [reset]);
  await audit(
    tx,
    entriesOf([reset], () => policy.workspace_id),
  );
  return [reset];
}

/** The record of applying the boundary a subject stands at, with every window missed since. */
function planReset(
  subject: Omit<usageResets.DueBudget, 'id' | 'subject_kind'> & { subject_kind: string },
  now: number,
): UsageResetRow {
  const schedule = {
    periodicReset: subject.periodic_reset,
    periodicResetDays: subject.periodic_reset_days,
  };
  return {
    subject_kind: subject.subject_kind,
    subject_id: subject.subject_id,
    boundary_at: subject.next_reset_at,
    organisation_id: subject.organisation_id,
    reset_at: now,
    next_reset_at: nextResetAt(schedule, subject.next_reset_at, now),
    skipped_windows: skippedWindows(schedule, subject.next_reset_at, now),
    used_micros: subject.used_micros,
  };
}

/** Many subjects share a boundary, such as Monday; each group needs one statement. */
function groupByMove<T extends { reset: UsageResetRow }>(planned: readonly T[]): T[][] {
  const groups = Map.groupBy(
    planned,
    ({ reset }) => `${reset.boundary_at} ${reset.next_reset_at ?? 'never'}`,
  );
  return [...groups.values()];
}

function idsOf(planned: readonly { id: string }[]): string[] {
  return planned.map(({ id }) => id);
}

function entriesOf(
  resets: readonly UsageResetRow[],
  workspaceOf: (reset: UsageResetRow) => string | null,
): AuditEntry[] {
  return resets.map((reset) => ({
    organisationId: reset.organisation_id,
    workspaceId: workspaceOf(reset),
    at: reset.reset_at,
    actorKind: 'job',
    actorId: 'reset-usage',
    action: 'reset',
    resourceKind: resourceKinds[reset.subject_kind as keyof typeof resourceKinds],
    resourceId: reset.subject_id,
    requestId: '',
    changes: {
      boundary_at: reset.boundary_at,
      next_reset_at: reset.next_reset_at,
      skipped_windows: reset.skipped_windows,
      used_micros: reset.used_micros,
    },
  }));
}
