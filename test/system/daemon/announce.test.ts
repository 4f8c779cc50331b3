/** Tests that a daemon announces each change once to the Git host and the receiver, across restarts, without secrets. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { GitServer } from '../../support/git/git-server.ts';
import { type Receiver, startReceiver } from '../../support/network/receiver.ts';
import { runWords } from '../../support/server/command-line.ts';
import { eventually } from '../../support/server/eventually.ts';
import type { TestServer } from '../../support/server/server.ts';
import { canaries } from '../../support/sync/sync-setup.ts';
import { runCli } from '../commands/run-cli.ts';
import { startDaemon } from './daemon-process.ts';
import { eachInPlace } from './daemon-setup.ts';

let server: TestServer;
let git: GitServer;
let outside: Receiver;
let folder: string;

eachInPlace((place) => {
  ({ server, git, folder } = place);
});
beforeEach(async () => {
  outside = await startReceiver();
});
afterEach(() => outside[Symbol.asyncDispose]());

const manifest = (spec: string): Record<string, string> => ({
  'support.yaml': `
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: support}
spec: ${spec}
`,
});

const env = () => ({
  GATEWRIGHT_GIT_CA_FILE: git.caFile,
  TRUSTED_CUSTOM_HOSTS: '127.0.0.1',
  GATEWRIGHT_COMMIT_STATUS_TOKEN: 'token-77b2',
  GATEWRIGHT_COMMIT_STATUS_FORM: 'gitlab',
  GATEWRIGHT_COMMIT_STATUS_API_URL: `${outside.url}/api/v4`,
  GATEWRIGHT_NOTIFY_URL: `${outside.url}/hooks/secret-path-91`,
  GATEWRIGHT_NOTIFY_SECRET: 'signing-secret-of-a-test',
});

const statuses = () =>
  outside.received.flatMap(({ path, body }) =>
    path.startsWith('/api/') ? [`${path.split('/').at(-1)} ${body.state}`] : [],
  );
const notified = () =>
  outside.received.flatMap(({ path, body }) =>
    path.startsWith('/hooks/') ? [`${body.previous_state}→${body.state}`] : [],
  );

it('announces a fault, its correction and a restart once each, with a receiver that refuses', async () => {
  const repository = git.repository('gw');
  const first = repository.commit('main', manifest('{description: one}'));
  const words = [`${repository.url}#main`, '--interval', '1s', '--port', '0'];
  const before = startDaemon(folder, words, env());
  await eventually(() => expect(statuses()).toEqual([`${first} success`]));
  const second = repository.commit('main', manifest('{rateLimits: "${GW_VAR_CRM_TOKEN}"}'));
  await eventually(() => {
    expect(statuses().slice(1)).toEqual([`${second} pending`, `${second} failed`]);
    expect(notified()).toEqual(['Synced→Degraded']);
  });
  await eventually(async () => {
    const { body } = await server.request('GET', '/admin/v2/gatewright/sync/status');
    expect(body.data[0].report.announced).toMatchObject({
      commit_status: { commit: second, state: 'failure' },
      notification: { is_delivered: true, state: 'Degraded' },
    });
  });
  before.child.kill('SIGTERM');
  expect((await before.ended).exitCode).toBe(0);

  await using after = startDaemon(folder, words, env());
  await after.find(({ event }) => event === 'failure');
  outside.replies.push({ status: 401 });
  const third = repository.commit('main', manifest('{description: three}'));
  const { channel, host, reason } = await after.find(({ event }) => event === 'undelivered');
  expect({ channel, host, reason }).toEqual({
    channel: 'commit-status',
    host: new URL(outside.url).host,
    reason: 'it responds with 401',
  });
  await eventually(() => {
    expect(statuses().slice(3)).toEqual([`${third} pending`, `${third} success`]);
    expect(notified()).toEqual(['Synced→Degraded', 'Degraded→Synced']);
  });
  const { listener } = await after.find(({ event }) => event === 'started');
  await eventually(async () => {
    const figures = await (await fetch(`${listener}/metrics`)).text();
    const of = 'gatewright_sync_deliveries_total';
    expect(figures).toContain(`${of}{channel="commit-status",outcome="failed"} 1\n`);
    expect(figures).toContain(`${of}{channel="commit-status",outcome="delivered"} 1\n`);
    expect(figures).toContain(`${of}{channel="notification",outcome="delivered"} 1\n`);
  });

  const bodies = outside.received.map(({ raw }) => raw).join('\n');
  after.child.kill('SIGTERM');
  const stated = JSON.stringify([
    before.events,
    after.events,
    await before.ended,
    await after.ended,
  ]);
  const secrets = [...Object.values(canaries), 'token-77b2', 'secret-path-91', 'signing-secret-of'];
  for (const secret of secrets) expect(bodies + stated).not.toContain(secret);
});

it('announces a run in CI too; the Git host’s response changes neither exit code nor output', async () => {
  const repository = git.repository('gw');
  const commit = repository.commit('main', manifest('{description: one}'));
  const run = (): ReturnType<typeof runCli> =>
    runCli(['sync', repository.url, '--once', '-o', 'json'], null, {
      cwd: folder,
      env: { ...env(), GATEWRIGHT_CREDENTIALS: 'credentials.json' },
    });
  const done = await run();
  expect(done.exitCode).toBe(0);
  expect(done.stderr).toBe('');
  expect(statuses()).toEqual([`${commit} pending`, `${commit} success`]);
  expect(notified()).toEqual([]);
  outside.replies.push({ status: 403 }, { status: 403 });
  const refused = await run();
  expect(refused.exitCode).toBe(0);
  expect(JSON.parse(refused.stdout)).toMatchObject({ exitCode: 0 });
  expect(refused.stderr).toContain('the status of a commit was given up: 127.0.0.1:');
  expect(refused.stderr).not.toContain('token-77b2');

  const before = statuses().length;
  repository.commit('main', manifest('{description: two}'));
  const given = { ...env(), GATEWRIGHT_CREDENTIALS: 'credentials.json' };
  const settings = Object.entries(given).map(([name, value]) => `${name}=${value}`);
  writeFileSync(join(folder, '.env'), settings.join('\n'));
  const apply = (...words: string[]) => runWords(['apply', ...words, '--yes'], folder);
  expect((await apply(repository.url)).exitCode).toBe(0);
  expect(statuses()).toHaveLength(before);
  const back = [`${repository.url}#${commit}`, '--commit-status'];
  expect((await apply(...back)).exitCode).toBe(4);
  expect((await apply(...back, '--accept-history')).exitCode).toBe(0);
  expect(statuses().slice(before)).toEqual([
    `${commit} pending`,
    `${commit} failed`,
    `${commit} pending`,
    `${commit} success`,
  ]);
});

it('is refused by apply before anything is read when no announcement is possible, with the remedy', async () => {
  const apply = () => runWords(['apply', '.', '--yes', '--commit-status'], folder);
  const settings = ['GATEWRIGHT_CREDENTIALS=credentials.json'];
  writeFileSync(join(folder, '.env'), settings.join('\n'));
  expect(await apply()).toMatchObject({
    exitCode: 5,
    stderr: expect.stringContaining('--commit-status: set GATEWRIGHT_COMMIT_STATUS_TOKEN'),
  });
  settings.push('GATEWRIGHT_COMMIT_STATUS_TOKEN=token-77b2');
  writeFileSync(join(folder, '.env'), settings.join('\n'));
  expect(await apply()).toMatchObject({
    exitCode: 5,
    stderr: expect.stringContaining('https://host/repo.git#COMMIT:folder'),
  });
});
