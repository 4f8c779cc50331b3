/** Tests the daemon: commits become the state of a real server, despite faults, outages and signals. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { GitServer } from '../../support/git/git-server.ts';
import { startFaultyProxy } from '../../support/network/faulty-proxy.ts';
import { eventually } from '../../support/server/eventually.ts';
import { freeze } from '../../support/server/process.ts';
import type { TestServer } from '../../support/server/server.ts';
import { endLeases } from '../../support/sync/lease.ts';
import { everyKind } from '../../support/sync/sync-setup.ts';
import { runCli } from '../commands/run-cli.ts';
import { type DaemonEvent, startDaemon, writeCredentials } from './daemon-process.ts';
import { eachInPlace } from './daemon-setup.ts';

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

const start = (words: readonly string[], env: Record<string, string> = {}) =>
  startDaemon(folder, [...words, '--interval', '1s'], {
    GATEWRIGHT_GIT_CA_FILE: git.caFile,
    ...env,
  });

async function described(): Promise<unknown> {
  const { body } = await server.request('GET', '/v2/workspaces');
  return body.data.find(({ name }: { name: string }) => name === 'support')?.description;
}

/** A cycle that applied this commit. */
const applied = (sha: string) => (event: DaemonEvent) =>
  event.event === 'cycle' && event.source.sha === sha && event.exitCode === 0;

describe('sync', () => {
  it('applies each commit, reports a bad one with its position and keeps the last good one', async () => {
    const repository = git.repository('gw');
    const first = repository.commit('main', { 'a.yaml': workspace('one') });
    await using daemon = start([`${repository.url}#main`]);
    await daemon.find(applied(first));
    expect(daemon.events[0]).toMatchObject({
      event: 'started',
      owner: 'gatewright',
      drift: 'heal',
    });
    expect(await described()).toBe('one');

    repository.commit('main', { 'a.yaml': `${workspace('two')}  nonsense: [` });
    const wrong = await daemon.find(({ event }) => event === 'failure');
    expect(wrong).toMatchObject({ ending: 'invalidInput', retryAt: null });
    expect(wrong.message).toContain('a.yaml:');
    expect(await described()).toBe('one');

    const third = repository.commit('main', { 'a.yaml': workspace('three') });
    await daemon.find(applied(third));
    expect(await described()).toBe('three');

    daemon.child.kill('SIGTERM');
    expect(await daemon.ended).toEqual({ exitCode: 0, stderr: '' });
    expect(daemon.events.at(-1)).toMatchObject({ event: 'stopped' });
  });

  it('refuses a rewritten history and another repository until the printed command accepts them', async () => {
    const repository = git.repository('gw');
    const first = repository.commit('main', { 'a.yaml': workspace('one') });
    const second = repository.commit('main', { 'a.yaml': workspace('two') });
    await using daemon = start([`${repository.url}#main`]);
    await daemon.find(applied(second));

    repository.git(['update-ref', 'refs/heads/main', first]);
    const refused = await daemon.find(({ event, exitCode }) => event === 'cycle' && exitCode === 4);
    expect(refused.refusal).toContain('does not descend from the one that was applied last');
    expect(refused.refusal).toContain(`${repository.url}#main at ${second} (revision 1)`);
    expect(refused.refusal).toContain(`${repository.url}#main at ${first}`);
    expect(await described()).toBe('two');

    const command = /If that is meant: +(.*)$/m.exec(String(refused.refusal))?.[1] ?? '';
    const [, ...words] = command.replaceAll("'", '').split(' ');
    expect(words).toContain('--accept-history');
    // Shells without the daemon's settings read it from the server.
    expect(words.join(' ')).toContain('--owner gatewright');
    expect(words).not.toContain('--output');
    const env = {
      GATEWRIGHT_CREDENTIALS: 'credentials.json',
      GATEWRIGHT_GIT_CA_FILE: git.caFile,
    };
    const run = (more: readonly string[]) => runCli(more, null, { cwd: folder, env });
    expect(await run(['plan', `${repository.url}#main`])).toMatchObject({
      exitCode: 2,
      stdout: expect.stringContaining('does not descend from the one that was applied last'),
    });
    expect((await run([...words, '--yes'])).exitCode).toBe(0);
    expect(await described()).toBe('one');
    const third = repository.commit('main', { 'a.yaml': workspace('three') });
    await daemon.find(applied(third));
    daemon.child.kill('SIGTERM');
    await daemon.ended;

    const other = git.repository('other');
    other.commit('main', { 'a.yaml': workspace('four') });
    await using elsewhere = start([`${other.url}#main`]);
    const otherSource = await elsewhere.find(({ exitCode }) => exitCode === 4);
    expect(otherSource.refusal).toContain(
      'the repository differs from the one that was applied last',
    );
    expect(await described()).toBe('three');
  });

  it('recovers with the newest commit after an outage of Git and the server', async () => {
    const repository = git.repository('gw');
    const first = repository.commit('main', { 'a.yaml': workspace('one') });
    let fate: 'pass' | 503 = 'pass';
    await using proxy = await startFaultyProxy(server.url, () => fate);
    writeCredentials(folder, server, proxy.url);
    await using daemon = start([`${repository.url}#main`]);
    await daemon.find(applied(first));

    git.token = 'another';
    await daemon.find(({ event, ending }) => event === 'failure' && ending === 'unreachable');
    repository.commit('main', { 'a.yaml': workspace('two') });
    fate = 503;
    git.token = undefined;
    await daemon.find(({ message = '' }) => message.includes('503'));
    const third = repository.commit('main', { 'a.yaml': workspace('three') });
    fate = 'pass';
    await daemon.find(applied(third));
    expect(await described()).toBe('three');
    expect(daemon.child.exitCode).toBeNull();
  });

  it.each([3, 6, 9])(
    'finishes work in progress when stopped at request %i, exits with 0, and loses nothing',
    async (k) => {
      const repository = git.repository('gw');
      const commit = repository.commit('main', { 'all.yaml': everyKind });
      const signal: { send?: () => void } = {};
      await using proxy = await startFaultyProxy(server.url, (index) => {
        if (index === k) signal.send?.();
        return 'pass';
      });
      writeCredentials(folder, server, proxy.url);
      await using daemon = start([`${repository.url}#main`]);
      signal.send = () => daemon.child.kill('SIGTERM');
      expect(await daemon.ended).toEqual({ exitCode: 0, stderr: '' });
      expect(daemon.events.at(-1)).toMatchObject({ event: 'stopped' });
      await using next = start([`${repository.url}#main`]);
      await next.find(applied(commit));
      const { body } = await server.request('GET', '/v2/api-keys');
      const names = body.data.map(({ name }: { name: string }) => name);
      expect(names.filter((name: string) => name === 'bot')).toHaveLength(1);
    },
  );
});

async function reported(): Promise<ReturnType<typeof JSON.parse>> {
  const { body } = await server.request('GET', '/admin/v2/gatewright/sync/status?owner=gatewright');
  return body.data[0]?.report;
}

describe('the status on the server', () => {
  it('follows the daemon: commits, states, errors with their position, drift, workspaces', async () => {
    const repository = git.repository('gw');
    const first = repository.commit('main', { 'a.yaml': workspace('one') });
    const words = [`${repository.url}#main`, '--drift', 'report'];
    await using daemon = start(words, { GATEWRIGHT_SYNC_DRIFT_SECONDS: '1' });
    const support = { workspace: 'support', commit_applied: first };
    await eventually(async () =>
      expect(await reported()).toMatchObject({
        source: `${repository.url}#main`,
        commit_seen: first,
        commit_applied: first,
        state: 'Synced',
        error: null,
        workspaces: [{ ...support, state: 'Synced', drift_count: 0 }],
      }),
    );
    const { body } = await server.request('GET', '/v2/workspaces');
    const { id } = body.data.find(({ name }: { name: string }) => name === 'support');
    const byHand = { description: 'by hand' };
    await server.request('PUT', `/admin/v2/workspaces/${id}`, { body: byHand });
    await eventually(async () =>
      expect(await reported()).toMatchObject({
        state: 'OutOfSync',
        drift_count: 1,
        workspaces: [{ ...support, state: 'OutOfSync', drift_count: 1 }],
      }),
    );
    const wrong = repository.commit('main', { 'a.yaml': `${workspace('two')}unknown: 1\n` });
    await eventually(async () =>
      expect(await reported()).toMatchObject({
        commit_seen: wrong,
        commit_applied: first,
        state: 'Degraded',
        error: { file: 'a.yaml', line: 6 },
      }),
    );
    const last = repository.commit('main', { 'a.yaml': workspace('three') });
    await eventually(async () =>
      expect(await reported()).toMatchObject({ commit_applied: last, state: 'Synced' }),
    );
    expect(daemon.child.exitCode).toBeNull();
  });

  it('preserves the applied state across a restart with an invalid commit', async () => {
    const repository = git.repository('gw');
    const first = repository.commit('main', { 'a.yaml': workspace('one') });
    {
      await using daemon = start([repository.url]);
      await daemon.find(applied(first));
      await eventually(async () =>
        expect(await reported()).toMatchObject({ commit_applied: first }),
      );
    }
    await endLeases(server);
    const wrong = repository.commit('main', { 'a.yaml': 'kind: [' });
    await using next = start([repository.url]);
    await next.find(({ event }) => event === 'failure');
    await eventually(async () =>
      expect(await reported()).toMatchObject({ commit_seen: wrong, commit_applied: first }),
    );
  });
});

describe('an idle daemon', () => {
  it('polls Git once per check, and only renews its lease on the server', async () => {
    const repository = git.repository('gw');
    const first = repository.commit('main', { 'a.yaml': workspace('one') });
    await using daemon = start([repository.url]);
    await daemon.find(applied(first));
    await eventually(async () => expect(await reported()).toMatchObject({ state: 'Synced' }));
    const before = git.requests.length;
    const linesBefore = server.logLines.length;
    await eventually(() => expect(git.requests.length).toBeGreaterThanOrEqual(before + 10));
    const looks = git.requests.slice(before).filter(({ line }) => line.startsWith('GET'));
    const lists = git.requests.slice(before).filter(({ line }) => line.startsWith('POST'));
    expect(Math.abs(looks.length - lists.length)).toBeLessThanOrEqual(1);
    const requested = server.logLines
      .slice(linesBefore)
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === 'request')
      .map(({ method, route }) => `${method} ${route}`);
    const renewal = 'PUT /admin/v2/gatewright/leases/:owner';
    expect([...new Set([renewal, ...requested])]).toEqual([renewal]);
    expect(server.logLines.some((line) => line.includes(`"route":"${renewal.slice(4)}"`))).toBe(
      true,
    );
  });
});

describe('two daemons of one owner', () => {
  const leads = ({ event }: DaemonEvent) => event === 'leading';
  const standsBy = ({ event }: DaemonEvent) => event === 'standby';

  it('never writes from both: one stands by, reports the leader once, and replaces a killed one', async () => {
    const repository = git.repository('gw');
    const first = repository.commit('main', { 'a.yaml': workspace('one') });
    await using leader = start([repository.url]);
    await leader.find(applied(first));
    await using follower = start([repository.url]);
    const standby = await follower.find(standsBy);
    expect(standby.leader).toMatch(
      new RegExp(`sync on .* \\(process ${leader.child.pid}\\) holds it until 20.*, since 20`),
    );
    const second = repository.commit('main', { 'a.yaml': workspace('two') });
    await leader.find(applied(second));
    leader.child.kill('SIGKILL');
    await leader.ended;
    const third = repository.commit('main', { 'a.yaml': workspace('three') });
    // Simulates elapsed time: the killed process's lease expires.
    await endLeases(server);
    await follower.find(leads);
    await follower.find(applied(third));
    expect(await described()).toBe('three');
    expect(follower.events.filter(standsBy)).toHaveLength(1);
    expect(follower.events.filter(({ event }) => event === 'cycle')).toHaveLength(1);
  });

  it('hands over at once when the leader is stopped', async () => {
    const repository = git.repository('gw');
    const first = repository.commit('main', { 'a.yaml': workspace('one') });
    await using leader = start([repository.url]);
    await leader.find(applied(first));
    await using follower = start([repository.url]);
    await follower.find(standsBy);
    leader.child.kill('SIGTERM');
    expect((await leader.ended).exitCode).toBe(0);
    await follower.find(leads);
    const { status } = await server.request('PUT', '/admin/v2/gatewright/leases/gatewright', {
      body: { run_id: randomUUID(), holder: 'a test', ttl_seconds: 1, yields: true },
    });
    expect(status).toBe(409);
  });

  it('writes nothing more after a suspended process lost its lease, and stands by', async () => {
    const repository = git.repository('gw');
    const first = repository.commit('main', { 'a.yaml': workspace('one') });
    await using sleeper = start([repository.url]);
    await sleeper.find(applied(first));
    await freeze(sleeper.child.pid!);
    await endLeases(server);
    await using other = start([repository.url]);
    await other.find(leads);
    const second = repository.commit('main', { 'a.yaml': workspace('two') });
    await other.find(applied(second));
    sleeper.child.kill('SIGCONT');
    await sleeper.find(standsBy);
    expect(sleeper.events.filter(({ event }) => event === 'cycle')).toHaveLength(1);
  });

  it('lets an apply run in between at once, and continues afterwards', async () => {
    const repository = git.repository('gw');
    const first = repository.commit('main', { 'a.yaml': workspace('one') });
    await using daemon = start([repository.url, '--drift', 'off']);
    await daemon.find(applied(first));
    writeFileSync(join(folder, 'mine.yaml'), workspace('mine'));
    const env = { GATEWRIGHT_CREDENTIALS: 'credentials.json' };
    const by = await runCli(['apply', 'mine.yaml', '--yes'], null, { cwd: folder, env });
    expect(by).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await described()).toBe('mine');
    const second = repository.commit('main', { 'a.yaml': workspace('two') });
    await daemon.find(applied(second));
    expect(await described()).toBe('two');
  });
});

describe('sync --once', () => {
  const once = (...words: string[]) =>
    runCli(['sync', ...words, '--once', '-o', 'json'], null, {
      cwd: folder,
      env: { GATEWRIGHT_CREDENTIALS: 'credentials.json', GATEWRIGHT_GIT_CA_FILE: git.caFile },
    });

  it('exits with the code of its result', async () => {
    const repository = git.repository('gw');
    repository.commit('main', { 'a.yaml': workspace('one') });
    const done = await once(repository.url);
    expect(done.exitCode).toBe(0);
    expect(JSON.parse(done.stdout)).toMatchObject({ exitCode: 0, summary: { create: 1 } });
    repository.commit('main', { 'a.yaml': 'kind: [' });
    expect((await once(repository.url)).exitCode).toBe(5);
    git.token = 'another';
    expect((await once(repository.url)).exitCode).toBe(6);
  });

  it('reads standard input, which the daemon rejects', async () => {
    const env = { GATEWRIGHT_CREDENTIALS: 'credentials.json' };
    const input = workspace('piped');
    const options = { cwd: folder, env, input };
    expect((await runCli(['sync', '-', '--once'], null, options)).exitCode).toBe(0);
    expect(await described()).toBe('piped');
    const refused = await runCli(['sync', '-'], null, options);
    expect(refused).toMatchObject({ exitCode: 5, stdout: '' });
    expect(refused.stderr).toContain('standard input can be read once only');
  });

  it.each([
    [['--interval', '90'], '--interval takes a time such as 30s, 5m or 1h'],
    [['--interval', '0s'], 'from 1 s to 86400 s'],
    [['--drift', 'repot'], 'did you mean "report"?'],
    [['--once', '--drift', 'off'], '--once and --drift exclude each other'],
  ])('rejects %j with an explanation', async (words, message) => {
    const { exitCode, stderr } = await runCli(['sync', '.', ...words], null, { cwd: folder });
    expect(exitCode).toBe(5);
    expect(stderr).toContain(message);
  });
});

describe('a broken workspace', () => {
  const inside = (name: string, description: string, more = ''): string => `
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: ${name}}
spec: {description: ${description}${more}}
---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: routing, workspace: ${name}}
spec: {config: {targets: [{provider: ${description}}]}}
`;

  it('leaves the others syncing, is reported with file and line, and loses nothing', async () => {
    const repository = git.repository('gw');
    const both = (description: string, sales: string) => ({
      'support.yaml': inside('support', description),
      'sales.yaml': sales,
    });
    const first = repository.commit('main', both('one', inside('sales', 'one')));
    await using daemon = start([`${repository.url}#main`]);
    await daemon.find(applied(first));
    const of = (sha: string) => (event: DaemonEvent) =>
      event.event === 'cycle' && event.source.sha === sha;
    const wrong = [
      inside('sales', 'two', ', surprise: 1'),
      inside('sales', 'two').replace('provider: two', 'provider: "${GW_VAR_UNSET}"'),
      `${inside('sales', 'two').split('---')[0]}  nonsense: [`,
    ];
    for (const [at, sales] of wrong.entries()) {
      const sha = repository.commit('main', both(`look-${at}`, sales));
      const event = await daemon.find(of(sha));
      expect(event.exitCode).toBe(3);
      expect(event.faults[0]).toMatchObject({ file: 'sales.yaml', workspaces: ['sales'] });
      expect(await described()).toBe(`look-${at}`);
    }
    const { body } = await server.request('GET', '/v2/configs');
    expect(body.data).toHaveLength(2);
    const right = repository.commit('main', both('three', inside('sales', 'three')));
    await daemon.find(applied(right));
  });

  it('stops an apply, except for a named other workspace, which printed commands name too', async () => {
    const cli = (...words: string[]) =>
      runCli(words, null, { cwd: folder, env: { GATEWRIGHT_CREDENTIALS: 'credentials.json' } });
    mkdirSync(join(folder, 'gw'));
    const write = (name: string, text: string): void =>
      writeFileSync(join(folder, 'gw', name), text);
    write('support.yaml', inside('support', 'one'));
    write('sales.yaml', inside('sales', 'one'));
    expect(await cli('apply', 'gw', '--yes')).toMatchObject({ exitCode: 0 });
    write('support.yaml', inside('support', 'two'));
    write('sales.yaml', inside('sales', 'two', ', surprise: 1'));
    expect(await cli('apply', 'gw', '--yes')).toMatchObject({ exitCode: 5 });
    expect(await cli('validate', 'gw')).toMatchObject({ exitCode: 5 });
    const only = ['--workspace', 'support'];
    expect(await cli('validate', 'gw', ...only)).toMatchObject({ exitCode: 0 });
    expect(await cli('apply', 'gw', '--yes', ...only)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('Applied: 2 updated; 0 unchanged.'),
    });
    expect(await described()).toBe('two');
    write('support.yaml', '');
    const refused = await cli('apply', 'gw', '--yes', ...only, '--workspace', 'sales');
    expect(refused.exitCode).toBe(5);
    const empty = await cli('apply', 'gw', '--yes', ...only);
    expect(empty).toMatchObject({ exitCode: 4, stdout: expect.stringContaining('all 2 that') });
    expect(empty.stdout).toContain('apply gw --workspace support --yes --allow-deletes 2');
    const exported = await cli('export', '-', '--workspace', 'sales');
    expect(exported.stdout).toContain('name: sales');
    expect(exported.stdout).not.toContain('support');
  });
});
