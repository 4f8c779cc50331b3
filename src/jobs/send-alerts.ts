/** Knows how alerts about usage are told: each is claimed before it is sent, tried again for a day, and then given up for all to see. */
import { fromUnits } from '../model/limits/limits.ts';
import { formatTimestamp } from '../model/wire/timestamp.ts';
import * as usageAlerts from '../store/usage/usage-alerts.ts';
import { deleteDue } from './delete-due.ts';
import { countsOf, type Undone } from './runner/due-work.ts';
import type { Job, JobContext } from './runner/job.ts';
import { messageOf } from './runner/job-run.ts';
import type { Mail, SendMail } from './runner/mailer.ts';

export interface SendAlertsOptions {
  /** Null where no mail is sent. */
  readonly sendMail: SendMail | null;
  /** Who is told of all, beside whom a key names. */
  readonly recipients: readonly string[];
}

const batchMax = 100;
/** For so long nobody else tries what was claimed. */
const leaseMs = 120_000;
const firstPauseMs = 60_000;
const pauseMsMax = 3_600_000;
/** After pauses of 1, 2, 4 … 60 minutes: a day. */
const attemptsMax = 28;
const keptMs = 90 * 86_400_000;
const deletedMax = 1_000;
const errorLengthMax = 255;
const labelLengthMax = 80;

type Ending = 'sent' | 'unaddressed' | 'postponed' | 'failed' | 'others';

export function sendAlerts(options: SendAlertsOptions): Job {
  return {
    name: 'send-alerts',
    cron: '* * * * *',
    summary: 'Mails alerts about budgets that reached their threshold or their end',
    feature: 'usageLimits',
    idleBecause: null,
    run: async (context) => {
      const { db, now, signal } = context;
      const counts = { sent: 0, unaddressed: 0, postponed: 0, deleted: 0 };
      const undone: Undone[] = [];
      while (!signal.aborted) {
        const due = await usageAlerts.listDue(db, now, batchMax);
        for (const alert of due) {
          if (signal.aborted) break;
          const { ending, error } = await tell(context, alert, options);
          if (ending === 'failed') undone.push({ name: subjectOf(alert), error });
          else if (ending !== 'others') counts[ending] += 1;
        }
        if (due.length < batchMax) break;
      }
      counts.deleted = await deleteOld(context);
      return countsOf(counts, undone);
    },
  };
}

async function tell(
  { db, transaction, now, log }: JobContext,
  alert: usageAlerts.StoredUsageAlert,
  { sendMail, recipients }: SendAlertsOptions,
): Promise<{ readonly ending: Ending; readonly error: unknown }> {
  // Whoever changes the row first has it; the others find nothing to change.
  const isOurs = await transaction((tx) => usageAlerts.claim(tx, alert, now + leaseMs));
  if (!isOurs) return { ending: 'others', error: null };
  const claimed = { ...alert, attempts: alert.attempts + 1 };
  const end = (state: usageAlerts.AlertState, fields: usageAlerts.AlertEnd) =>
    transaction((tx) => usageAlerts.updateClaimed(tx, claimed, { state, ...fields }));
  const to = await recipientsOf(db, alert, recipients);
  if (sendMail === null || to.length === 0) {
    const reason = sendMail === null ? 'SMTP_HOST is not set' : 'nobody is to be told';
    await end('unaddressed', { due_at: now, sent_at: null, last_error: reason });
    return { ending: 'unaddressed', error: null };
  }
  try {
    await sendMail(mailOf(alert, to));
  } catch (error) {
    const isLast = claimed.attempts >= attemptsMax;
    const pauseMs = Math.min(firstPauseMs * 2 ** alert.attempts, pauseMsMax);
    const fields = { sent_at: null, last_error: messageOf(error).slice(0, errorLengthMax) };
    await end(isLast ? 'failed' : 'waiting', { due_at: now + pauseMs, ...fields });
    log.warn({ err: error, alert: subjectOf(alert), isLast }, 'an alert could not be mailed');
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
  const own = await usageAlerts.listRecipients(db, alert);
  return [...new Set([...own, ...recipients])];
}

function subjectOf({ label, kind }: usageAlerts.StoredUsageAlert): string {
  const plain = label.replace(/\p{C}/gu, ' ');
  const shown = plain.length > labelLengthMax ? `${plain.slice(0, labelLengthMax)}…` : plain;
  return kind === 'exhausted'
    ? `${shown} has used up its limit`
    : `${shown} has reached its alert threshold`;
}

function mailOf(alert: usageAlerts.StoredUsageAlert, to: readonly string[]): Mail {
  const { type, value_key: value, kind } = alert;
  const amount = (units: number): string =>
    type === 'cost' ? `${fromUnits(units, type)} US dollars` : `${units} ${type}`;
  const reached = kind === 'exhausted' ? 'limit' : 'alert threshold';
  const lines = [
    `${subjectOf(alert)}.`,
    '',
    `${reached}: ${amount(alert.limit_units)}`,
    `used: ${amount(alert.used_units)}`,
    ...(value === '' ? [] : [`counted for: ${value.replace(/\p{C}/gu, ' ')}`]),
    ...(alert.window_start === 0 ? [] : [`since: ${formatTimestamp(alert.window_start)}`]),
    `noticed: ${formatTimestamp(alert.created_at)}`,
    `id: ${alert.subject_kind} ${alert.subject_id}`,
  ];
  const subject = `[gatewright] ${subjectOf(alert)}`;
  return { to, subject, text: `${lines.join('\n')}\n`, id: usageAlerts.markOf(alert) };
}

/** Those that nobody waits for any more. */
function deleteOld(context: JobContext): Promise<number> {
  const before = context.now - keptMs;
  return deleteDue(context, {
    listOrganisations: (db) => usageAlerts.listOrganisationsOlderThan(db, before, deletedMax),
    deleteSome: (tx, organisationId) =>
      usageAlerts.deleteOlderThan(tx, organisationId, before, deletedMax),
  });
}
