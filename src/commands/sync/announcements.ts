/** Opens the commit statuses and notifications that the settings configure. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Clock, systemClock } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import { outboundUrlFault } from '../../model/services/outbound-url.ts';
import { packageVersion } from '../../package-root.ts';
import type { Settings } from '../../settings.ts';
import type { DeliveryChannel } from '../../sync/daemon/sync-metrics.ts';
import { Announcer, type NotificationTerms } from '../../sync/notify/announcer.ts';
import type { CommitStatusTerms } from '../../sync/notify/commit-status.ts';
import { commitStatusHostSettings, gitHostOf, plainFault } from '../../sync/notify/git-host.ts';
import { Outbox } from '../../sync/notify/outbox.ts';
import { Post } from '../../sync/notify/post.ts';

/** The configured channels; null for unused ones. */
export interface Announcements {
  readonly commitStatus: (CommitStatusTerms & { readonly ca: string | undefined }) | null;
  readonly notification: NotificationTerms | null;
  /** Proxies for the deliveries. */
  readonly proxies: Settings['proxies'];
}

/** @throws Failure (invalid input) naming the invalid setting */
export function readAnnouncements(
  { sync, proxies, trustedHosts: trusted }: Pick<Settings, 'sync' | 'trustedHosts' | 'proxies'>,
  { owner, locations, cwd }: { owner: string; locations: readonly string[]; cwd: string },
): Announcements {
  const { commitStatus, notification, git } = sync;
  return {
    proxies,
    commitStatus:
      (commitStatus && {
        host: gitHostOf(locations, {
          ...commitStatus,
          trusted,
          settings: commitStatusHostSettings,
        }),
        owner,
        token: commitStatus.token,
        link: commitStatus.link,
        ca: git.caFile === undefined ? undefined : readCertificates(resolve(cwd, git.caFile)),
      }) ??
      null,
    notification:
      (notification && {
        url: notificationUrl(notification.url.reveal(), trusted),
        form: notification.form,
        signingSecret: notification.signingSecret,
      }) ??
      null,
  };
}

function notificationUrl(text: string, trusted: Settings['trustedHosts']): URL {
  const fault = outboundUrlFault(text, trusted) ?? plainFault(text);
  if (fault !== null) throw new Failure('invalidInput', `GATEWRIGHT_NOTIFY_URL ${fault}`);
  return new URL(text);
}

function readCertificates(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const message = `GATEWRIGHT_GIT_CA_FILE: ${path} cannot be read (${code})`;
    throw new Failure('invalidInput', message, { cause: error });
  }
}

/** Reports a delivery; `reason` is null after a success. */
export type OnOutcome = (channel: DeliveryChannel, host: string, reason: string | null) => void;

/** An announcer with its delivery channels. */
export interface OpenAnnouncer extends AsyncDisposable {
  readonly announcer: Announcer;
  /** Sends pending messages for slightly more than `waitMs` at most. */
  close(waitMs?: number): Promise<void>;
}

/** Null when no channel is configured. */
export function openAnnouncer(
  { commitStatus, notification, proxies }: Announcements,
  terms: {
    readonly owner: string;
    readonly onOutcome: OnOutcome;
    readonly onChange: () => void;
    readonly clock?: Clock;
  },
): OpenAnnouncer | null {
  if (commitStatus === null && notification === null) return null;
  const { owner, onOutcome, onChange, clock = systemClock } = terms;
  const agent = `gatewright/${packageVersion()}`;
  const posts: Post[] = [];
  const outboxes: Outbox[] = [];
  const outbox = (channel: DeliveryChannel, { host }: URL, ca?: string): Outbox => {
    const post = new Post({ clock, agent, ca, proxies });
    const opened = new Outbox({ post, onOutcome: (reason) => onOutcome(channel, host, reason) });
    posts.push(post);
    outboxes.push(opened);
    return opened;
  };
  const announcer = new Announcer({
    owner,
    clock,
    onChange,
    commitStatus: commitStatus && {
      terms: commitStatus,
      outbox: outbox('commit-status', new URL(commitStatus.host.repositoryUrl), commitStatus.ca),
    },
    notification: notification && {
      terms: notification,
      outbox: outbox('notification', notification.url),
    },
  });
  const closeAll = async (waitMs?: number): Promise<void> => {
    await Promise.all(outboxes.map((one) => one.close(waitMs)));
    await Promise.all(posts.map((one) => one[Symbol.asyncDispose]()));
  };
  let closed: Promise<void> | null = null;
  const close = (waitMs?: number): Promise<void> => {
    closed ??= closeAll(waitMs);
    return closed;
  };
  return { announcer, close, [Symbol.asyncDispose]: () => close() };
}

export function undeliveredText(channel: DeliveryChannel, host: string, reason: string): string {
  if (channel === 'kubernetes-status') {
    return `the status in Kubernetes cannot be written: ${reason}. It will be retried; sync continues`;
  }
  const what = channel === 'commit-status' ? 'the status of a commit' : 'a notification';
  return `${what} was given up: ${host}, ${reason}. Sync continues`;
}
