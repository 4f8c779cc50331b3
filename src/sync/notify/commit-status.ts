/** Builds the commit status for GitHub, GitLab and Gitea. */
/*
 * Everybody who can read the repository can read a status, so it contains only fixed texts and the
 * position of an error in the source. Messages, which may repeat values, stay on the server.
 */
import type { SyncAnnouncements } from '../../model/kinds/sync-record.ts';
import type { Secret } from '../../secret.ts';
import { oneLine } from '../../terminal-text.ts';
import { commitOf } from '../resources/resource-set.ts';
import type { LoopStatus } from '../status/sync-state.ts';
import type { GitHost } from './git-host.ts';
import type { OutgoingMessage } from './post.ts';

type State = NonNullable<SyncAnnouncements['commit_status']>['state'];

export interface CommitStatus {
  readonly commit: string;
  readonly state: State;
  readonly description: string;
}

export interface CommitStatusTerms {
  readonly host: GitHost;
  readonly token: Secret;
  readonly owner: string;
  readonly link: string | undefined;
}

const descriptionMax = 140;
const commitId = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/**
 * Returns null without a commit, and when the status does not change: drift after a commit was
 * applied does not concern the commit.
 *
 * @param applied the commit that was applied last, possibly by an earlier process
 */
export function commitStatusOf(
  { state, seen, place, result }: Pick<LoopStatus, 'state' | 'seen' | 'place' | 'result'>,
  applied: string | null,
): CommitStatus | null {
  if (seen === null || !commitId.test(seen)) return null;
  const statusOf = (word: State, text: string): CommitStatus => {
    const description = oneLine(text).slice(0, descriptionMax);
    return { commit: seen, state: word, description };
  };
  if (state === 'Synced') return statusOf('success', 'the server matches this commit');
  if (state === 'Suspended') return statusOf('pending', 'suspended: see gatewright status');
  if (seen === applied) return null;
  if (state === 'Progressing') return statusOf('pending', 'being applied');
  if (state === 'OutOfSync') return statusOf('failure', 'held back: see gatewright status');
  if (place === null) return statusOf('failure', 'not applied: see gatewright status');
  const isCycle = result !== null && commitOf(result.plan.source) === seen;
  const extent = isCycle && result.report !== null ? 'applied in part' : 'not applied';
  return statusOf('failure', `${extent}: see line ${place.line} of ${place.file}`);
}

/** The owner is the context, so that each sync of a repository has its own status. */
export function commitStatusMessage(
  { commit, state, description }: CommitStatus,
  { host, token, owner, link }: CommitStatusTerms,
): OutgoingMessage {
  const { form, repositoryUrl } = host;
  const name = `gatewright/${owner}`;
  const details = { description, ...(link === undefined ? {} : { target_url: link }) };
  const url = new URL(`${repositoryUrl}/statuses/${commit}`);
  const secret = token.reveal();
  if (form === 'gitlab') {
    return {
      url,
      headers: { 'private-token': secret },
      body: JSON.stringify({ state: state === 'failure' ? 'failed' : state, name, ...details }),
      // Repeating the current status is an error there.
      isKnown: (status, text) => status === 400 && text.includes('Cannot transition status'),
    };
  }
  const headers: OutgoingMessage['headers'] =
    form === 'gitea'
      ? { authorization: `token ${secret}` }
      : {
          authorization: `Bearer ${secret}`,
          accept: 'application/vnd.github+json',
          'x-github-api-version': '2022-11-28',
        };
  return { url, headers, body: JSON.stringify({ state, context: name, ...details }) };
}
