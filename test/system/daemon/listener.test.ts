/** Tests the daemon's listener: accurate probes, bounded metrics, webhooks that only trigger checks. */
import { createHmac } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { GitServer } from '../../support/git/git-server.ts';
import { startFaultyProxy } from '../../support/network/faulty-proxy.ts';
import { startReceiver } from '../../support/network/receiver.ts';
import { eventually } from '../../support/server/eventually.ts';
import type { TestServer } from '../../support/server/server.ts';
import { everyKind } from '../../support/sync/sync-setup.ts';
import { runCli } from '../commands/run-cli.ts';
import { type DaemonProcess, startDaemon, writeCredentials } from './daemon-process.ts';
import { eachInPlace } from './daemon-setup.ts';

const secret = 'a-secret-of-enough-length';
let server: TestServer;
let git: GitServer;
let folder: string;

eachInPlace((place) => {
  ({ server, git, folder } = place);
});

const workspace = (description: string): string => `
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: support}
spec: {description: ${description}}
`;

/** Written atomically, so that no check reads half of it. */
function put(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

const start = (words: readonly string[], env: Record<string, string> = {}) =>
  startDaemon(folder, [...words, '--port', '0'], {
    GATEWRIGHT_GIT_CA_FILE: git.caFile,
    GATEWRIGHT_SYNC_WEBHOOK_SECRET: secret,
    ...env,
  });

async function urlOf(daemon: DaemonProcess): Promise<string> {
  return (await daemon.find(({ event }) => event === 'started')).listener;
}

async function get(url: string): Promise<{ status: number; text: string }> {
  const response = await fetch(url);
  return { status: response.status, text: await response.text() };
}

function push(url: string, ref: string, by = secret): Promise<Response> {
  const body = JSON.stringify({ ref, repository: { default_branch: 'main' } });
  const signature = createHmac('sha256', by).update(body).digest('hex');
  const headers = {
    'content-type': 'application/json',
    'x-hub-signature-256': `sha256=${signature}`,
  };
  return fetch(`${url}/webhook`, { method: 'POST', body, headers });
}

const looks = (): number => git.requests.filter(({ line }) => line.includes('info/refs')).length;

describe('probes', () => {
  it('reports not ready before the first check, ready after it, and not ready during a long outage', async () => {
    const repository = git.repository('gw');
    repository.commit('main', { 'a.yaml': workspace('one') });
    let fate: 'pass' | 503 = 503;
    await using proxy = await startFaultyProxy(server.url, () => fate);
    writeCredentials(folder, server, proxy.url);
    const words = [repository.url, '--interval', '1s'];
    await using daemon = start(words, { GATEWRIGHT_SYNC_READY_SECONDS: '0' });
    const url = await urlOf(daemon);
    expect((await get(`${url}/livez`)).status).toBe(200);
    const early = await get(`${url}/readyz`);
    expect(early.status).toBe(503);
    expect(early.text).toContain('the first look has not finished');
    fate = 'pass';
    await eventually(async () => expect((await get(`${url}/readyz`)).status).toBe(200));
    git.token = 'another';
    const away = await eventually(async () => {
      const answer = await get(`${url}/readyz`);
      expect(answer.status).toBe(503);
      return answer;
    });
    expect(away.text).toContain('out of reach for');
    expect((await get(`${url}/livez`)).status).toBe(200);
    git.token = undefined;
    await eventually(async () => expect((await get(`${url}/readyz`)).status).toBe(200));
  });

  it('reports a standby daemon as ready', async () => {
    const repository = git.repository('gw');
    repository.commit('main', { 'a.yaml': workspace('one') });
    await using leader = start([repository.url]);
    await leader.find(({ event }) => event === 'cycle');
    await using standby = start([repository.url]);
    await standby.find(({ event }) => event === 'standby');
    expect((await get(`${await urlOf(standby)}/readyz`)).status).toBe(200);
    expect((await get(`${await urlOf(standby)}/metrics`)).text).toContain(
      'gatewright_sync_leading 0\n',
    );
  });

  it('requires an available port', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await eventually(() => expect(other.listening).toBe(true));
    const { port } = other.address() as { port: number };
    const env = { GATEWRIGHT_CREDENTIALS: 'credentials.json' };
    const words = ['sync', '.', '--port', String(port)];
    const { exitCode, stderr } = await runCli(words, null, { cwd: folder, env });
    other.close();
    expect(exitCode).toBe(5);
    expect(stderr).toContain(`Cannot listen on 127.0.0.1:${port} (EADDRINUSE)`);
  });
});

describe('metrics', () => {
  it('counts changes by kind and action, and exposes commit, drift, failures and the last success', async () => {
    const repository = git.repository('gw');
    const commit = repository.commit('main', { 'all.yaml': everyKind });
    const pace = { GATEWRIGHT_SYNC_DRIFT: 'report', GATEWRIGHT_SYNC_DRIFT_SECONDS: '1' };
    await using daemon = start([repository.url, '--interval', '1s'], pace);
    const url = await urlOf(daemon);
    await daemon.find(({ event }) => event === 'cycle');
    const displayed = async (): Promise<string> => (await get(`${url}/metrics`)).text;
    const first = await displayed();
    for (const line of [
      'gatewright_sync_changes_total{kind="Workspace",action="create"} 1',
      'gatewright_sync_changes_total{kind="ApiKey",action="create"} 1',
      `gatewright_sync_revision_info{seen="${commit}",applied="${commit}"} 1`,
      'gatewright_sync_state{state="Synced"} 1',
      'gatewright_sync_leading 1',
      'gatewright_sync_drift_resources 0',
      'gatewright_sync_suspended 0',
      'gatewright_sync_cycle_duration_seconds_count{ending="success"} 1',
      'gatewright_sync_lag_seconds_count 1',
    ]) {
      expect(first).toContain(`${line}\n`);
    }
    expect(first).toMatch(/gatewright_sync_last_success_timestamp_seconds 1\d{9}/);
    const { body } = await server.request('GET', '/v2/workspaces');
    const { id } = body.data.find(({ name }: { name: string }) => name === 'support');
    const byHand = { description: 'by hand' };
    await server.request('PUT', `/admin/v2/workspaces/${id}`, { body: byHand });
    await eventually(async () =>
      expect(await displayed()).toContain('gatewright_sync_drift_resources 1\n'),
    );
    expect(await displayed()).toContain('gatewright_sync_state{state="OutOfSync"} 1\n');
    repository.commit('main', { 'all.yaml': 'kind: [' });
    await eventually(async () =>
      expect(await displayed()).toContain('gatewright_sync_failures_total{ending="invalidInput"}'),
    );
    const last = await displayed();
    expect(last).toContain('gatewright_sync_state{state="Degraded"} 1\n');
    expect(last.match(/^gatewright_sync_revision_info/gm)).toHaveLength(1);
  });

  it('exposes a suspension while it lasts', async () => {
    const source = join(folder, 'a.yaml');
    put(source, workspace('one'));
    await using daemon = start([source, '--interval', '1s']);
    const url = await urlOf(daemon);
    const shows = (line: string): Promise<void> =>
      eventually(async () => expect((await get(`${url}/metrics`)).text).toContain(`${line}\n`));
    await daemon.find(({ event }) => event === 'cycle');
    const env = { GATEWRIGHT_CREDENTIALS: 'credentials.json' };
    const run = (...words: string[]) => runCli(words, null, { cwd: folder, env });
    expect((await run('suspend', '--reason', 'frozen')).exitCode).toBe(0);
    put(source, workspace('two'));
    await shows('gatewright_sync_suspended 1');
    await shows('gatewright_sync_state{state="Suspended"} 1');
    expect((await run('resume')).exitCode).toBe(0);
    put(source, workspace('three'));
    await shows('gatewright_sync_suspended 0');
    await shows('gatewright_sync_state{state="Synced"} 1');
  });

  it('exposes everything in metrics and events beside a server without daemon status', async () => {
    const source = join(folder, 'a.yaml');
    put(source, workspace('one'));
    let reported = 0;
    await using proxy = await startFaultyProxy(server.url, (_, request) => {
      if (!request.includes('/gatewright/sync/')) return 'pass';
      reported += Number(request.startsWith('PUT'));
      return 404;
    });
    await using receiver = await startReceiver();
    writeCredentials(folder, server, proxy.url);
    await using daemon = start([source, '--interval', '1s'], {
      GATEWRIGHT_NOTIFY_URL: receiver.url,
      TRUSTED_CUSTOM_HOSTS: '127.0.0.1',
    });
    const url = await urlOf(daemon);
    await daemon.find(({ event }) => event === 'noStatus');
    const before = reported;
    put(source, 'kind: [');
    await daemon.find(({ event }) => event === 'failure');
    await eventually(() => expect(receiver.received).toHaveLength(1));
    put(source, workspace('two'));
    await eventually(() => expect(receiver.received).toHaveLength(2));
    expect(receiver.received.map(({ body }) => body.state)).toEqual(['Degraded', 'Synced']);
    const { text } = await get(`${url}/metrics`);
    expect(text).toContain('gatewright_sync_state{state="Synced"} 1\n');
    expect(text).toContain('gatewright_sync_changes_total{kind="Workspace",action="update"} 1\n');
    expect((await get(`${url}/readyz`)).status).toBe(200);
    const events = daemon.events.map(({ event }) => event);
    expect(events).toEqual(['started', 'leading', 'cycle', 'noStatus', 'failure', 'cycle']);
    expect(reported).toBe(before);
  });
});

describe('a webhook', () => {
  it('triggers a check at once with a valid signature, and applies the new commit', async () => {
    const repository = git.repository('gw');
    repository.commit('main', { 'a.yaml': workspace('one') });
    await using daemon = start([`${repository.url}#main`, '--interval', '1h']);
    await daemon.find(({ event }) => event === 'cycle');
    const url = await urlOf(daemon);
    const second = repository.commit('main', { 'a.yaml': workspace('two') });
    const answer = await push(url, 'refs/heads/main');
    expect([answer.status, await answer.json()]).toEqual([202, { due: true }]);
    await daemon.find(({ event, source }) => event === 'cycle' && source.sha === second);
  });

  it('triggers nothing when invalid, missing, too large, about another ref, or without a secret', async () => {
    const repository = git.repository('gw');
    repository.commit('main', { 'a.yaml': workspace('one') });
    await using daemon = start([`${repository.url}#main`, '--interval', '1h']);
    await daemon.find(({ event }) => event === 'cycle');
    const url = await urlOf(daemon);
    const before = looks();
    expect((await push(url, 'refs/heads/main', 'another-secret-of-length')).status).toBe(401);
    expect((await fetch(`${url}/webhook`, { method: 'POST', body: '{}' })).status).toBe(401);
    expect((await fetch(`${url}/webhook`)).status).toBe(404);
    const large = Buffer.alloc(1024 * 1024 + 1);
    expect((await fetch(`${url}/webhook`, { method: 'POST', body: large })).status).toBe(413);
    const other = await push(url, 'refs/heads/dev');
    expect([other.status, await other.json()]).toMatchObject([200, { due: false }]);
    const { text } = await get(`${url}/metrics`);
    expect(text).toContain('gatewright_sync_webhooks_total{form="unknown",outcome="refused"} 2\n');
    expect(text).toContain('gatewright_sync_webhooks_total{form="github",outcome="ignored"} 1\n');
    expect(looks()).toBe(before);
    await using silent = startDaemon(folder, [repository.url, '--port', '0', '--owner', 'other'], {
      GATEWRIGHT_GIT_CA_FILE: git.caFile,
    });
    expect((await push(await urlOf(silent), 'refs/heads/main')).status).toBe(404);
  });

  it('triggers at most one check a second, however many are sent', async () => {
    const repository = git.repository('gw');
    repository.commit('main', { 'a.yaml': workspace('one') });
    await using daemon = start([`${repository.url}#main`, '--interval', '1h']);
    await daemon.find(({ event }) => event === 'cycle');
    const url = await urlOf(daemon);
    const before = looks();
    const since = performance.now();
    while (looks() - before < 3) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => push(url, 'refs/heads/main')),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(202));
    }
    const seconds = (performance.now() - since) / 1000;
    expect(looks() - before).toBeLessThanOrEqual(Math.floor(seconds + 0.1) + 1);
  });
});
