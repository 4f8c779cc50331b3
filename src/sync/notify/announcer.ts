/** Sends commit statuses and notifications about the state of a sync, each change once. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { SyncAnnouncements } from '../../model/kinds/sync-record.ts';
import type { Secret } from '../../secret.ts';
import type { StatusFollower } from '../status/status-reporter.ts';
import type { LoopStatus } from '../status/sync-state.ts';
import {
  type CommitStatus,
  type CommitStatusTerms,
  commitStatusMessage,
  commitStatusOf,
} from './commit-status.ts';
import {
  changesNotifiedBefore,
  changesToNotify,
  jsonMessage,
  type Notification,
  type NotificationRecord,
  type StateChange,
  slackMessage,
} from './notification.ts';
import type { Outbox } from './outbox.ts';

export interface NotificationTerms {
  readonly url: URL;
  readonly form: 'json' | 'slack';
  readonly signingSecret: Secret | undefined;
}

export interface AnnouncerOptions {
  readonly owner: string;
  readonly clock: Clock;
  readonly commitStatus: { readonly terms: CommitStatusTerms; readonly outbox: Outbox } | null;
  readonly notification: { readonly terms: NotificationTerms; readonly outbox: Outbox } | null;
  /** Called when the data that the server stores for announcements changed. */
  readonly onChange: () => void;
}

/** A state that may pass by itself is announced after it has lasted this long. */
const passingMs = 60_000;

type Report = Notification['report'];

export class Announcer implements StatusFollower {
  readonly #options: AnnouncerOptions;
  /** The status that was sent last, and the one that is known to have arrived. */
  #status: Omit<CommitStatus, 'description'> | null = null;
  #arrived: SyncAnnouncements['commit_status'] = null;
  #record: NotificationRecord | null = null;
  /** Sent after the server has stored it; an id that was sent is not sent again. */
  #notification: Notification | null = null;
  #putId: string | null = null;
  #isRead = false;
  #passingSince: number | null = null;

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  /** Called for a version that is about to be applied. */
  onVersion(standing: LoopStatus): void {
    // The first version of a process may have been applied long ago.
    if (standing.hasLooked && standing.state === 'Progressing') this.sendCommitStatus(standing);
  }

  /** Sends the commit status only, from what this process knows. */
  sendCommitStatus(standing: LoopStatus): void {
    this.#putStatus(commitStatusOf(standing, standing.applied));
  }

  prepare(
    report: Report,
    standing: LoopStatus,
    before: SyncAnnouncements | undefined,
  ): SyncAnnouncements {
    if (!this.#isRead) {
      this.#isRead = true;
      // A server that stores nothing does not override the memory of this process.
      if (before !== undefined) {
        this.#arrived = before.commit_status;
        this.#record = before.notification;
      }
      this.#status ??= this.#arrived;
    }
    this.#putStatus(commitStatusOf(standing, report.commit_applied));
    if (this.#options.notification !== null) this.#compare(report, standing);
    return { commit_status: this.#arrived, notification: this.#record };
  }

  send(): void {
    const { notification: channel } = this.#options;
    const notification = this.#notification;
    if (channel === null || notification === null || notification.id === this.#putId) return;
    const { url, form, signingSecret } = channel.terms;
    this.#putId = notification.id;
    channel.outbox.put('notification', {
      message: () =>
        form === 'slack'
          ? slackMessage(url, notification)
          : jsonMessage(url, notification, signingSecret, this.#options.clock.now()),
      onDelivered: () => {
        if (this.#record?.delivery_id !== notification.id) return;
        this.#record = { ...this.#record, is_delivered: true };
        this.#options.onChange();
      },
    });
  }

  forget(): void {
    this.#isRead = false;
    this.#status = null;
    this.#notification = null;
  }

  #putStatus(status: CommitStatus | null): void {
    const { commitStatus } = this.#options;
    const { commit, state } = status ?? {};
    const isAnnounced = this.#status?.commit === commit && this.#status?.state === state;
    if (commitStatus === null || status === null || isAnnounced) return;
    this.#status = status;
    commitStatus.outbox.put(status.commit, {
      message: () => commitStatusMessage(status, commitStatus.terms),
      onDelivered: () => {
        this.#arrived = { commit: status.commit, state: status.state };
        this.#options.onChange();
      },
    });
  }

  #compare(report: Report, standing: LoopStatus): void {
    const { owner, clock } = this.#options;
    const now = clock.now();
    this.#passingSince = standing.isRetryPending ? (this.#passingSince ?? now) : null;
    const isPassing = this.#passingSince !== null && now - this.#passingSince < passingMs;
    if (report.state === 'Progressing' || isPassing) return;
    const before = this.#record;
    const news = changesToNotify(before, report, { now, newId: randomUUID });
    const mayBeLost = before !== null && !before.is_delivered && before.delivery_id !== this.#putId;
    const notify = (
      id: string,
      previous: NotificationRecord['state'] | null,
      changes: readonly StateChange[],
    ): void => {
      this.#notification = { id, owner, report, previous, changes };
    };
    if (news !== null) {
      this.#record = news.record;
      notify(news.record.delivery_id, before?.state ?? 'Synced', news.changes);
    } else if (mayBeLost && before.state === report.state) {
      notify(before.delivery_id, null, changesNotifiedBefore(before, report));
    }
  }
}
