/** Knows what the status of a commit says at its Git host, and how GitHub, GitLab and Gitea are told. */
/*
 * Whoever may read the repository reads a status: it says in fixed words how things are and where
 * in the source something is wrong. Messages, which may repeat a value, stay with the server.
 */
import type { Announcements } from '../../model/kinds/sync-record.ts';
import type { Secret } from '../../secret.ts';
import { oneLine } from '../../terminal-text.ts';
import { commitOf } from '../resources/resource-set.ts';
import type { LoopStatus } from '../status/sync-state.ts';
import type { GitHost } from './git-host.ts';
import type { Message } from './post.ts';

type State = NonNullable<Announcements['commit_status']>['state'];

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
 * Null where there is no commit, and where nothing is to be said of it: what became of the server
 * once it was as the commit says is no matter of the commit.
 *
 * @param applied the commit that was applied last, be it by a process before this one
 */
export function commitStatusOf(
  { state, seen, place, result }: Pick<LoopStatus, 'state' | 'seen' | 'place' | 'result'>,
  applied: string | null,
): CommitStatus | null {
  if (seen === null || !commitId.test(seen)) return null;
  const told = (word: State, text: string): CommitStatus => {
    const description = oneLine(text).slice(0, descriptionMax);
    return { commit: seen, state: word, description };
  };
  if (state === 'Synced') return told('success', 'the server is as this commit says');
  if (state === 'Suspended') return told('pending', 'suspended: gatewright status tells by whom');
  if (seen === applied) return null;
  if (state === 'Progressing') return told('pending', 'being applied');
  if (state === 'OutOfSync') return told('failure', 'held back: gatewright status tells by what');
  if (place === null) return told('failure', 'not applied: gatewright status tells why');
  const isCycle = result !== null && commitOf(result.plan.source) === seen;
  const extent = isCycle && result.report !== null ? 'applied in part' : 'not applied';
  return told('failure', `${extent}: see line ${place.line} of ${place.file}`);
}

/** The owner is the context, so that each sync of a repository has a status of its own. */
export function commitStatusMessage(
  { commit, state, description }: CommitStatus,
  { host, token, owner, link }: CommitStatusTerms,
): Message {
  const { form, statusesUrl } = host;
  const name = `gatewright/${owner}`;
  const said = { description, ...(link === undefined ? {} : { target_url: link }) };
  const url = new URL(`${statusesUrl}/${commit}`);
  const secret = token.reveal();
  if (form === 'gitlab') {
    return {
      url,
      headers: { 'private-token': secret },
      body: JSON.stringify({ state: state === 'failure' ? 'failed' : state, name, ...said }),
      // To say what it says already is an error there.
      isKnown: (status, text) => status === 400 && text.includes('Cannot transition status'),
    };
  }
  const headers: Message['headers'] =
    form === 'gitea'
      ? { authorization: `token ${secret}` }
      : {
          authorization: `Bearer ${secret}`,
          accept: 'application/vnd.github+json',
          'x-github-api-version': '2022-11-28',
        };
  return { url, headers, body: JSON.stringify({ state, context: name, ...said }) };
}
