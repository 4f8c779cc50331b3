/** Resets usage: moves each budget and policy whose window has ended to its next window. */
import { auditSweep } from '../store/logs/audit-log.ts';
import { windowAt } from '../store/usage/usage-budgets.ts';
import { kindOfSubject } from '../store/usage/usage-counters.ts';
import type { BudgetTable, DueBudget, WindowMove } from '../store/usage/usage-windows.ts';
import * as usageWindows from '../store/usage/usage-windows.ts';
import { countsOf, type FailedSubject, workThrough } from './runner/due-work.ts';
import type { Job, JobContext } from './runner/job.ts';

const countNames = {
  api_key: 'keys',
  workspace: 'workspaces',
  provider: 'providers',
  integration_workspace: 'integrations',
  integration: 'integrations',
  policy: 'policies',
} as const;

export function resetUsage({ auditLogs }: { readonly auditLogs: boolean }): Job {
  const audit = auditSweep(auditLogs);
  return {
    name: 'reset-usage',
    cron: '* * * * *',
    summary:
      'Resets the usage of API keys, workspaces, providers and policies when their period ends',
    feature: 'usageLimits',
    idleBecause: null,
    run: async (context) => {
      const { db, now } = context;
      const counts = {
        keys: 0,
        workspaces: 0,
        providers: 0,
        integrations: 0,
        policies: 0,
        skippedWindows: 0,
      };
      const failures: FailedSubject[] = [];
      for (const table of ['usage_budgets', 'usage_limit_policies'] as const) {
        const failed = await workThrough<DueBudget>(context, {
          list: (limit, except) => usageWindows.listDue(db, table, now, limit, except),
          groupKey: boundaryKey,
          work: async (batch) => {
            const move = moveOf(batch[0]!, now);
            const ended = await resetBatch(context, table, batch, move, audit);
            counts[countNames[batch[0]!.subject_kind]] += ended;
            counts.skippedWindows += ended * move.skippedWindows;
          },
          describe: (due) => `${kindOfSubject[due.subject_kind]} ${due.subject_id}`,
        });
        failures.push(...failed);
      }
      return countsOf(counts, failures);
    },
  };
}

/**
 * Subjects with the same boundary, such as Monday, are moved together, but not with those of another
 * organisation, so that each transaction stays on one shard.
 */
function boundaryKey(due: DueBudget): string {
  return JSON.stringify([
    due.organisation_id,
    due.subject_kind,
    due.periodic_reset,
    due.periodic_reset_days,
    due.next_reset_at,
  ]);
}

/** The next window of all subjects at the boundary of `due`; the write compares the window of each subject. */
function moveOf(due: DueBudget, now: number): WindowMove {
  const { startMs, nextResetAtMs, skippedWindows } = windowAt({ ...due, window_start: 0 }, now);
  return { boundaryAt: due.next_reset_at, startMs, nextResetAtMs, skippedWindows };
}

/** Returns the number of ended windows. */
function resetBatch(
  { transaction, now }: JobContext,
  table: BudgetTable,
  batch: readonly DueBudget[],
  move: WindowMove,
  audit: ReturnType<typeof auditSweep>,
): Promise<number> {
  const { organisation_id: organisationId, subject_kind: kind } = batch[0]!;
  const subjects = { organisationId, kind, ids: batch.map((due) => due.subject_id) };
  return transaction(async (tx) => {
    const ids = await usageWindows.lockDue(tx, table, subjects, move.boundaryAt);
    if (ids.length === 0) return 0;
    return usageWindows.moveOn(tx, table, { ...subjects, ids }, move, {
      now,
      audit: (ending) =>
        audit(tx, {
          organisationId,
          at: now,
          actorId: 'reset-usage',
          action: 'reset',
          resourceKind: kindOfSubject[kind],
          changes: usageWindows.resetFacts(move),
          ...ending,
        }),
    });
  });
}
