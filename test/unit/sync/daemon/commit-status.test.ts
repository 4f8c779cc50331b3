/** Tests the commit status on a Git host: address, format, fixed wording, and no repetition. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/clock.ts';
import { Secret } from '../../../../src/secret.ts';
import { commitStatusMessage, commitStatusOf } from '../../../../src/sync/notify/commit-status.ts';
import {
  type GitHostTerms,
  gitHostOf,
  commitStatusHostSettings as settings,
} from '../../../../src/sync/notify/git-host.ts';
import { Outbox } from '../../../../src/sync/notify/outbox.ts';
import { Post } from '../../../../src/sync/notify/post.ts';
import type { LoopStatus } from '../../../../src/sync/status/sync-state.ts';
import { readTrustedHosts, type TrustedHosts } from '../../../../src/trusted-hosts.ts';
import { type Receiver, startReceiver } from '../../../support/network/receiver.ts';

const commit = 'a'.repeat(40);
const canary = 'canary-5d1f';
const token = new Secret('token-77b2', 'env:GATEWRIGHT_COMMIT_STATUS_TOKEN');

function trusting(text: string): TrustedHosts {
  const reading = readTrustedHosts(text);
  return 'hosts' in reading ? reading.hosts : [];
}
const loopback = trusting('127.0.0.1');

describe('the address of a status', () => {
  const urlOf = (location: string, terms: Partial<GitHostTerms> = {}): string => {
    const { form, repositoryUrl } = gitHostOf([location], { trusted: [], settings, ...terms });
    return `${form} ${repositoryUrl}/statuses`;
  };

  it.each([
    [
      'https://github.com/team/gw.git#main:prod',
      'github https://api.github.com/repos/team/gw/statuses',
    ],
    ['git@github.com:team/gw.git', 'github https://api.github.com/repos/team/gw/statuses'],
    ['https://acme.ghe.com/team/gw', 'github https://api.acme.ghe.com/repos/team/gw/statuses'],
    [
      'https://github.acme.com/team/gw',
      'github https://github.acme.com/api/v3/repos/team/gw/statuses',
    ],
    [
      'https://gitlab.com/a/b/c.git',
      'gitlab https://gitlab.com/api/v4/projects/a%2Fb%2Fc/statuses',
    ],
    [
      'ssh://git@gitlab.acme.com:2222/a/b.git',
      'gitlab https://gitlab.acme.com/api/v4/projects/a%2Fb/statuses',
    ],
    [
      'https://codeberg.org/team/gw.git',
      'gitea https://codeberg.org/api/v1/repos/team/gw/statuses',
    ],
    [
      'https://gitea.acme.com:3000/team/gw.git',
      'gitea https://gitea.acme.com:3000/api/v1/repos/team/gw/statuses',
    ],
  ])('derives the format for %s from its host', (location, expected) => {
    expect(urlOf(location)).toBe(expected);
  });

  it('follows the settings, also below a path of the host', () => {
    expect(urlOf('https://git.acme.com/team/gw.git', { form: 'gitea' })).toBe(
      'gitea https://git.acme.com/api/v1/repos/team/gw/statuses',
    );
    const apiUrl = 'https://git.acme.com/tools/gitea/api/v1/';
    expect(urlOf('https://git.acme.com/tools/gitea/team/gw.git', { form: 'gitea', apiUrl })).toBe(
      'gitea https://git.acme.com/tools/gitea/api/v1/repos/team/gw/statuses',
    );
  });

  it.each([
    [
      ['https://git.acme.com/team/gw.git'],
      {},
      /set GATEWRIGHT_COMMIT_STATUS_FORM to github, gitlab or gitea/,
    ],
    [
      ['https://github.com/a/b/c'],
      {},
      /"a\/b\/c" is not OWNER\/REPOSITORY.*GATEWRIGHT_COMMIT_STATUS_API_URL/,
    ],
    [['./folder'], {}, /needs one source, a Git repository over https or ssh/],
    [['file:///srv/gw.git'], {}, /needs one source/],
    [['https://github.com/a/b', 'https://github.com/a/c'], {}, /needs one source/],
    [
      ['https://github.com/a/b'],
      { apiUrl: 'http://10.0.0.7/api/v3' },
      /API_URL must not name a private.*TRUSTED_CUSTOM_HOSTS/,
    ],
    [
      ['https://github.com/a/b'],
      { apiUrl: 'http://169.254.169.254/', trusted: trusting('*.internal') },
      /cloud metadata/,
    ],
    [['https://github.com/a/b'], { apiUrl: 'http://git.acme.com/api/v3' }, /must begin with https/],
    [
      ['https://github.com/a/b'],
      { apiUrl: 'https://git.acme.com/api?x=1' },
      /must not have a query/,
    ],
    [['https://github.com/a/b'], { apiUrl: 'nonsense' }, /API_URL must be an absolute URL/],
  ] as const)('rejects %j with %j and explains the fix', (locations, terms, words) => {
    expect(() => gitHostOf(locations, { trusted: [], settings, ...terms })).toThrow(words);
  });

  it('accepts a private address over plain HTTP where it is trusted', () => {
    expect(
      urlOf('https://github.com/a/b', {
        apiUrl: 'http://127.0.0.1:3000/api/v3',
        trusted: loopback,
      }),
    ).toBe('github http://127.0.0.1:3000/api/v3/repos/a/b/statuses');
  });
});

describe('the status of a commit', () => {
  const place = { file: 'team/keys.yaml', line: 7, column: 3 };
  const stand = (more: Partial<LoopStatus>) => ({
    state: 'Synced' as const,
    seen: commit,
    place: null,
    result: null,
    ...more,
  });
  const of = (more: Partial<LoopStatus>, applied: string | null = null) => {
    const status = commitStatusOf(stand(more), applied);
    return status && `${status.state}: ${status.description}`;
  };

  it('states the result and the position of a fault in fixed words, never a message', () => {
    const message = `${canary} is no number`;
    expect(of({})).toBe('success: the server matches this commit');
    expect(of({ state: 'Progressing', message })).toBe('pending: being applied');
    expect(of({ state: 'Suspended', message })).toMatch(/^pending: suspended/);
    expect(of({ state: 'OutOfSync', message })).toMatch(/^failure: held back/);
    expect(of({ state: 'Degraded', message })).toMatch(/^failure: not applied/);
    expect(of({ state: 'Degraded', message, place })).toBe(
      'failure: not applied: see line 7 of team/keys.yaml',
    );
    const all = ['Progressing', 'Suspended', 'OutOfSync', 'Degraded'] as const;
    expect(JSON.stringify(all.map((state) => of({ state, message, place })))).not.toContain(canary);
  });

  it('is sent for commits only, and stays unchanged after the apply', () => {
    expect(of({ seen: null })).toBeNull();
    expect(of({ seen: `sha256:${'b'.repeat(64)}` })).toBeNull();
    for (const state of ['Degraded', 'OutOfSync', 'Progressing'] as const) {
      expect(of({ state }, commit)).toBeNull();
    }
    expect(of({}, commit)).toMatch(/^success/);
    expect(of({ state: 'Degraded' }, 'b'.repeat(40))).toMatch(/^failure/);
  });

  it('fits into 140 characters on one line, whatever the name of a file', () => {
    const file = `${'x'.repeat(300)}\n\u001b[31m`;
    const description = commitStatusOf(
      stand({ state: 'Degraded', place: { ...place, file } }),
      null,
    )!.description;
    expect(description).toHaveLength(140);
    expect(
      commitStatusOf(stand({ state: 'Degraded', place: { ...place, file: 'a\nb\u001b' } }), null)!
        .description,
    ).toMatch(/a\\u000ab\\u001b$/);
  });
});

describe('the delivery of a status', () => {
  let host: Receiver;
  let post: Post;
  const pauses: number[] = [];
  const outcomes: (string | null)[] = [];

  beforeEach(async () => {
    host = await startReceiver();
    post = new Post({
      clock: { now: () => Date.UTC(2027, 0, 4) },
      agent: 'gatewright/test',
    });
    pauses.length = 0;
    outcomes.length = 0;
  });
  afterEach(async () => {
    await post[Symbol.asyncDispose]();
    await host[Symbol.asyncDispose]();
  });

  const outbox = (): Outbox =>
    new Outbox({
      post,
      onOutcome: (reason) => outcomes.push(reason),
      random: () => 1,
      pause: async (ms) => pauses.push(ms),
    });

  const send = async (
    form: 'github' | 'gitlab' | 'gitea',
    state: 'pending' | 'failure' = 'failure',
  ): Promise<void> => {
    const terms = {
      host: { form, repositoryUrl: host.url },
      token,
      owner: 'team-a',
      link: 'https://wiki.acme.com/gw',
    };
    const box = outbox();
    const message = () => commitStatusMessage({ commit, state, description: 'd' }, terms);
    box.put(commit, { message });
    await box.close(60_000);
  };

  it('uses the format of GitHub', async () => {
    await send('github');
    expect(host.received).toMatchObject([
      {
        path: `/statuses/${commit}`,
        headers: {
          authorization: 'Bearer token-77b2',
          'user-agent': 'gatewright/test',
          accept: 'application/vnd.github+json',
          'x-github-api-version': '2022-11-28',
          'content-type': 'application/json',
        },
      },
    ]);
    expect(host.received[0]!.body).toEqual({
      state: 'failure',
      context: 'gatewright/team-a',
      description: 'd',
      target_url: 'https://wiki.acme.com/gw',
    });
  });

  it('uses the format of GitLab, where an unchanged status is no failure', async () => {
    host.replies.push({
      status: 400,
      text: '{"message":"Cannot transition status via :enqueue from :pending"}',
    });
    await send('gitlab', 'pending');
    host.replies.push({ status: 400, text: '{"message":"bad"}' });
    await send('gitlab');
    expect(outcomes).toEqual([null, 'it responds with 400']);
    expect(host.received[0]).toMatchObject({ headers: { 'private-token': 'token-77b2' } });
    expect(host.received.map(({ body }) => body)).toMatchObject([
      { state: 'pending', name: 'gatewright/team-a', target_url: 'https://wiki.acme.com/gw' },
      { state: 'failed', name: 'gatewright/team-a' },
    ]);
  });

  it('uses the format of Gitea', async () => {
    await send('gitea');
    expect(host.received).toMatchObject([
      {
        headers: { authorization: 'token token-77b2' },
        body: { state: 'failure', context: 'gatewright/team-a' },
      },
    ]);
  });

  it('retries after 500 and 503, as late as the host requests', async () => {
    const date = 'Mon, 04 Jan 2027 00:01:30 GMT';
    host.replies.push(
      { status: 500 },
      { status: 429, headers: { 'retry-after': '7' } },
      { status: 403, headers: { 'retry-after': date } },
      { status: 503, headers: { 'retry-after': '999999' } },
    );
    await send('github');
    expect(outcomes).toEqual([null]);
    expect(host.received).toHaveLength(5);
    expect(pauses).toEqual([1_000, 7_000, 90_000, 900_000]);
  });

  it('gives up after ten attempts, and at once where a retry is pointless', async () => {
    host.replies.push(...Array.from({ length: 10 }, () => ({ status: 502 })), { status: 401 });
    await send('github');
    expect(host.received).toHaveLength(10);
    await send('github');
    expect(host.received).toHaveLength(11);
    expect(outcomes).toEqual(['it responds with 502', 'it responds with 401']);
    expect(Math.max(...pauses)).toBe(600_000);
  });

  it('succeeds with the status line, however long the body takes', async () => {
    host.replies.push('endless');
    await send('github');
    await send('github');
    expect(outcomes).toEqual([null, null]);
    expect(host.received).toHaveLength(2);
  });

  it('follows no redirect', async () => {
    await using other = await startReceiver();
    host.replies.push({ status: 307, headers: { location: `${other.url}/x` } });
    await send('github');
    expect(outcomes).toEqual(['it responds with 307, and redirects are not followed']);
    expect(other.received).toEqual([]);
  });

  it('retries when the host accepts the connection and never answers', async () => {
    await using hasty = new Post({ clock: systemClock, agent: 'x', timeoutMs: 1_000 });
    host.replies.push('never');
    const box = new Outbox({
      post: hasty,
      onOutcome: () => undefined,
      pause: async () => undefined,
    });
    const delivered = new Promise<void>((onDelivered) => {
      const message = () => ({ url: new URL(host.url), headers: {}, body: '{}' });
      box.put(commit, { message, onDelivered });
    });
    await delivered;
    expect(host.received.length).toBeGreaterThan(1);
    await box.close();
  });

  it('gives up without the token in the reason when nothing listens', async () => {
    const terms = {
      host: { form: 'github' as const, repositoryUrl: 'http://127.0.0.1:1' },
      token,
      owner: 'a',
      link: undefined,
    };
    const box = outbox();
    box.put('c', {
      message: () => commitStatusMessage({ commit, state: 'pending', description: '' }, terms),
    });
    await box.close(60_000);
    expect(outcomes).toEqual(['it cannot be reached (ECONNREFUSED)']);
    expect(`${token}${JSON.stringify({ token })}`).not.toContain('token-77b2');
  });

  it('sends only the newest status of a commit', async () => {
    const box = outbox();
    const stated = (state: string) => ({
      message: () => ({ url: new URL(host.url), headers: {}, body: JSON.stringify({ state }) }),
    });
    for (const state of ['pending', 'failure', 'success']) box.put(commit, stated(state));
    await box.close(60_000);
    const states = host.received.map(({ body }) => body.state);
    expect(states.at(-1)).toBe('success');
    expect(states).not.toContain('failure');
  });
});
