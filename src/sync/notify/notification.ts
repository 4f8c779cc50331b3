/** Decides when a state change is notified, and formats it as signed JSON or as text for Slack. */
/*
 * The last notification is compared with the current state; nothing is queued. A state that comes
 * and goes in between is never notified. A crash between sending and storing repeats a notification
 * under the same id. Flapping exhausts the rate limit; the state that holds when there is room
 * again is notified then.
 */
import type { SyncAnnouncements, SyncReport } from '../../model/kinds/sync-record.ts';
import { formatTimestamp, parseTimestamp } from '../../model/wire/timestamp.ts';
import type { Secret } from '../../secret.ts';
import { oneLine } from '../../terminal-text.ts';
import { standardSignature } from '../daemon/standard-webhook.ts';
import type { OutgoingMessage } from './post.ts';

/** The last notification. */
export type NotificationRecord = NonNullable<SyncAnnouncements['notification']>;
type State = NotificationRecord['state'];

/** A state change; `previous` is null when it is unknown. */
export interface StateChange {
  readonly workspace: string | null;
  readonly state: State;
  readonly previous: State | null;
  readonly message: string | null;
}

export interface Notification {
  readonly id: string;
  readonly owner: string;
  readonly report: Omit<SyncReport, 'next_look_at' | 'announced'>;
  readonly previous: State | null;
  readonly changes: readonly StateChange[];
}

/** Rate limit: a burst of four, then one every ten minutes. */
const paceMs = 600_000;
const atOnceMax = 4;

type Report = Notification['report'];

/**
 * Returns what to notify at `now`, ms since the epoch: the new record and the changed workspaces;
 * null for nothing. Before the first notification everything counts as Synced.
 */
export function changesToNotify(
  record: NotificationRecord | null,
  report: Report,
  { now, newId }: { readonly now: number; readonly newId: () => string },
): { readonly record: NotificationRecord; readonly changes: readonly StateChange[] } | null {
  const before = new Map(record?.workspaces.map(({ workspace, state }) => [workspace, state]));
  const changes = [...statesOf(report)].flatMap(
    ([workspace, { state, message }]): StateChange[] => {
      const previous = before.get(workspace) ?? 'Synced';
      before.delete(workspace);
      return state === previous ? [] : [{ workspace, state, previous, message }];
    },
  );
  // A workspace that is gone has no problem any more.
  for (const [workspace, previous] of before) {
    changes.push({ workspace, state: 'Synced', previous, message: null });
  }
  if (changes.length === 0 && report.state === (record?.state ?? 'Synced')) return null;
  const paced = Math.max(now, record === null ? now : parseTimestamp(record.paced_until)) + paceMs;
  if (paced - now > atOnceMax * paceMs) return null;
  const troubled = report.workspaces.filter(({ state }) => state !== 'Synced');
  return {
    changes,
    record: {
      delivery_id: newId(),
      is_delivered: false,
      paced_until: formatTimestamp(paced),
      state: report.state,
      workspaces: troubled.map(({ workspace, state }) => ({ workspace, state })),
    },
  };
}

/** Returns the changes of a notification that a dead process recorded and may have sent. */
export function changesNotifiedBefore(
  { workspaces }: NotificationRecord,
  report: Report,
): StateChange[] {
  const states = statesOf(report);
  return workspaces.map(({ workspace, state }) => {
    const message = states.get(workspace)?.message ?? null;
    return { workspace, state, previous: null, message };
  });
}

function statesOf({ workspaces }: Report) {
  return new Map(workspaces.map((one) => [one.workspace, one]));
}

/** Signed as a Standard Webhook if there is a secret; `now` in ms since the epoch. */
export function jsonMessage(
  url: URL,
  { id, owner, report, previous, changes }: Notification,
  secret: Secret | undefined,
  now: number,
): OutgoingMessage {
  const { workspaces: _, ...owned } = report;
  const body = JSON.stringify({
    id,
    event: 'sync.state_changed',
    owner,
    previous_state: previous,
    ...owned,
    workspaces: changes.map(({ previous: previous_state, ...one }) => ({ ...one, previous_state })),
  });
  const timestamp = String(Math.floor(now / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === undefined) return { url, headers, body };
  const signature = standardSignature({ id, timestamp, body }, secret.reveal());
  return { url, headers: { ...headers, 'webhook-signature': signature }, body };
}

const slackLinesMax = 20;
const slackMessageMax = 300;

export function slackMessage(
  url: URL,
  { owner, report, previous, changes }: Notification,
): OutgoingMessage {
  const { state, message, source, commit_seen, error } = report;
  const place = error?.file == null ? '' : ` (${error.file}:${error.line ?? 1})`;
  const head = `*gatewright ${safe(owner)}: ${changed(state, previous)}*${safe(place)}`;
  const lines = changes.slice(0, slackLinesMax).map((change) => {
    const name = change.workspace === null ? 'the organisation' : `workspace ${change.workspace}`;
    return `• ${safe(name)}: ${changed(change.state, change.previous)}${messageSuffix(change.message)}`;
  });
  const missing = changes.length - lines.length;
  const text = [
    `${head}${messageSuffix(message)}`,
    safe(`${source}${commit_seen === null ? '' : ` at ${commit_seen.slice(0, 12)}`}`),
    ...lines,
    ...(missing > 0 ? [`and ${missing} more`] : []),
  ].join('\n');
  return { url, headers: {}, body: JSON.stringify({ text }) };
}

function changed(state: State, previous: State | null): string {
  return previous === null || previous === state ? state : `${state}, was ${previous}`;
}

function messageSuffix(message: string | null): string {
  if (message === null) return '';
  const cut = message.length > slackMessageMax ? `${message.slice(0, slackMessageMax)}…` : message;
  return `: ${safe(cut.replaceAll('\n', ' '))}`;
}

/** Removes markup, mentions (`<!channel>`, elsewhere `@channel`) and invisible characters. */
function safe(text: string): string {
  return oneLine(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/@(?=channel|all|here|everyone)/gi, '@\u200b');
}
