/** Mails usage alerts: claims each before it is sent, retries for a day, and then records the failure. */
import { fromUnits } from '../model/limits/limits.ts';
import { formatTimestamp } from '../model/wire/timestamp.ts';
import * as usageAlerts from '../store/usage/usage-alerts.ts';
import { listAlertRecipients } from './alert-recipients.ts';
import { deleteDue } from './delete-due.ts';
import { countsOf, type FailedSubject } from './runner/due-work.ts';
import type { Job, JobContext } from './runner/job.ts';
import { messageOf } from './runner/job-run.ts';
import type { Mail, SendMail } from './runner/mailer.ts';

export interface SendAlertsOptions {
  /** Null when mail is not configured. */
  readonly sendMail: SendMail | null;
  /** Recipients of all alerts, in addition to those of each budget. */
  readonly recipients: readonly string[];
}

const batchMax = 100;
/** During this time no other process sends a claimed alert. */
const leaseMs = 120_000;
const firstPauseMs = 60_000;
const pauseMsMax = 3_600_000;
/** With pauses of 1, 2, 4 … 60 minutes, about a day. */
const attemptsMax = 28;
const retentionMs = 90 * 86_400_000;
const deletedMax = 1_000;
const errorLengthMax = 255;
const labelLengthMax = 80;

type Ending = 'sent' | 'unaddressed' | 'postponed' | 'failed' | 'others';

export function sendAlerts(options: SendAlertsOptions): Job {
  return {
    name: 'send-alerts',
    cron: '* * * * *',
    summary: 'Mails alerts about budgets that have reached their threshold or limit',
    feature: 'usageLimits',
    idleBecause: null,
    run: async (context) => {
      const { db, now, signal } = context;
      const counts = { sent: 0, unaddressed: 0, postponed: 0, deleted: 0 };
      const failures: FailedSubject[] = [];
      while (!signal.aborted) {
        const due = await usageAlerts.listDue(db, now, batchMax);
        for (const alert of due) {
          if (signal.aborted) break;
          const { ending, error } = await sendAlert(context, alert, options);
          if (ending === 'failed') failures.push({ name: subjectOf(alert), error });
          else if (ending !== 'others') counts[ending] += 1;
        }
        if (due.length < batchMax) break;
      }
      counts.deleted = await deleteOld(context);
      return countsOf(counts, failures);
    },
  };
}

async function sendAlert(
  { db, transaction, now, log }: JobContext,
  alert: usageAlerts.StoredUsageAlert,
  { sendMail, recipients }: SendAlertsOptions,
): Promise<{ readonly ending: Ending; readonly error: unknown }> {
  // The first process that updates the row owns the alert.
  const isClaimed = await transaction((tx) => usageAlerts.claim(tx, alert, now + leaseMs));
  if (!isClaimed) return { ending: 'others', error: null };
  const claimed = { ...alert, attempts: alert.attempts + 1 };
  const end = (state: usageAlerts.AlertState, fields: usageAlerts.AlertEnd) =>
    transaction((tx) => usageAlerts.updateClaimed(tx, claimed, { state, ...fields }));
  const to = await recipientsOf(db, alert, recipients);
  if (sendMail === null || to.length === 0) {
    const reason = sendMail === null ? 'SMTP_HOST is not set' : 'there are no recipients';
    await end('unaddressed', { due_at: now, sent_at: null, last_error: reason });
    return { ending: 'unaddressed', error: null };
  }
  try {
    await sendMail(mailOf(alert, to));
  } catch (error) {
    const isLast = claimed.attempts >= attemptsMax;
    const pauseMs = Math.min(firstPauseMs * 2 ** alert.attempts, pauseMsMax);
    const fields = { sent_at: null, last_error: messageOf(error).slice(0, errorLengthMax) };
    if (isLast) await end('failed', { due_at: now, ...fields });
    else await end('waiting', { due_at: now + pauseMs, ...fields });
    log.warn({ err: error, alert: subjectOf(alert), isLast }, 'alert could not be mailed');
    return { ending: isLast ? 'failed' : 'postponed', error };
  }
  await end('sent', { due_at: now, sent_at: now, last_error: null });
  return { ending: 'sent', error: null };
}

async function recipientsOf(
  db: JobContext['db'],
  alert: usageAlerts.StoredUsageAlert,
  recipients: readonly string[],
): Promise<string[]> {
  const own = await listAlertRecipients(db, alert);
  return [...new Set([...own, ...recipients])];
}

function subjectOf({ label, kind }: usageAlerts.StoredUsageAlert): string {
  const plain = label.replace(/\p{C}/gu, ' ');
  const name = plain.length > labelLengthMax ? `${plain.slice(0, labelLengthMax)}…` : plain;
  return kind === 'exhausted'
    ? `${name} has reached its limit`
    : `${name} has reached its alert threshold`;
}

function mailOf(alert: usageAlerts.StoredUsageAlert, to: readonly string[]): Mail {
  const { type, value_key: value, kind } = alert;
  const amount = (units: number): string =>
    type === 'cost' ? `${fromUnits(units, type)} US dollars` : `${units} ${type}`;
  const isRefusal = kind === 'exhausted' && alert.used_units < alert.limit_units;
  const reached = kind === 'exhausted' ? 'limit' : 'alert threshold';
  const lines = [
    `${subjectOf(alert)}.`,
    '',
    `${reached}: ${amount(alert.limit_units)}`,
    `used: ${amount(alert.used_units)}`,
    ...(isRefusal ? ['A request was refused because it needs more than is left.'] : []),
    ...(value === '' ? [] : [`counted for: ${value.replace(/\p{C}/gu, ' ')}`]),
    ...(alert.window_start === 0 ? [] : [`since: ${formatTimestamp(alert.window_start)}`]),
    `noticed: ${formatTimestamp(alert.created_at)}`,
    `id: ${alert.subject_kind} ${alert.subject_id}`,
  ];
  const subject = `[gatewright] ${subjectOf(alert)}`;
  return { to, subject, text: `${lines.join('\n')}\n`, id: usageAlerts.markOf(alert) };
}

/** Deletes alerts after their retention. */
function deleteOld(context: JobContext): Promise<number> {
  const before = context.now - retentionMs;
  return deleteDue(context, {
    listOrganisations: (db) => usageAlerts.listOrganisationsOlderThan(db, before, deletedMax),
    deleteSome: (tx, organisationId) =>
      usageAlerts.deleteOlderThan(tx, organisationId, before, deletedMax),
  });
}
