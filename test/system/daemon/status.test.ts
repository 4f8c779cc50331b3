/** Tests the daemon's status on the server through commits, faults, suspensions and its end. */
import { expect, it } from 'vitest';
import type { GitServer } from '../../support/git/git-server.ts';
import { eventually } from '../../support/server/eventually.ts';
import type { TestServer } from '../../support/server/server.ts';
import { runCli } from '../commands/run-cli.ts';
import { startDaemon } from './daemon-process.ts';
import { eachInPlace } from './daemon-setup.ts';

let server: TestServer;
let git: GitServer;
let folder: string;

eachInPlace((place) => {
  ({ server, git, folder } = place);
});

const workspace = (name: string, description: string): string => `
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: ${name}}
spec: {description: ${description}}
`;

async function status() {
  const env = { GATEWRIGHT_CREDENTIALS: 'credentials.json' };
  const { stdout } = await runCli(['status', '-o', 'json'], null, { cwd: folder, env });
  return JSON.parse(stdout).owners[0];
}

/** Calls the command once the server has the status, because repeated calls keep a processor busy. */
async function reported(expected: { report: object; [more: string]: unknown }): Promise<void> {
  await eventually(async () => {
    const { body } = await server.request('GET', '/admin/v2/gatewright/sync/status');
    expect(body.data[0]?.report).toMatchObject(expected.report);
  });
  expect(await status()).toMatchObject(expected);
}

it('shows Synced with the commit, Degraded with the position of a fault, Suspended, and then the revision', async () => {
  const repository = git.repository('gw');
  const files = (description: string) => ({
    'a.yaml': workspace('support', description),
    'b.yaml': workspace('sales', description),
  });
  const first = repository.commit('main', files('one'));
  await using daemon = startDaemon(folder, [`${repository.url}#main`, '--interval', '1s'], {
    GATEWRIGHT_GIT_CA_FILE: git.caFile,
  });
  await reported({
    state: 'Synced',
    silent: false,
    lease: { holder: expect.stringContaining('sync on') },
    revision: { number: 1, commit: first },
    report: {
      source: `${repository.url}#main`,
      commit_seen: first,
      commit_applied: first,
      state: 'Synced',
      workspaces: [
        { workspace: 'sales', state: 'Synced', commit_applied: first },
        { workspace: 'support', state: 'Synced', commit_applied: first },
      ],
    },
  });
  const second = repository.commit('main', { ...files('two'), 'b.yaml': 'kind: [' });
  await reported({
    state: 'Degraded',
    report: { commit_seen: second, state: 'Degraded', error: { file: 'b.yaml', line: 1 } },
  });
  const env = { GATEWRIGHT_CREDENTIALS: 'credentials.json' };
  const run = (...words: string[]) => runCli(words, null, { cwd: folder, env });
  const paused = await run('suspend', 'sales', '--reason', 'frozen');
  expect(paused.exitCode).toBe(0);
  const third = repository.commit('main', files('three'));
  await reported({
    report: {
      commit_seen: third,
      state: 'Suspended',
      workspaces: [
        { workspace: 'sales', state: 'Suspended', commit_applied: first },
        { workspace: 'support', state: 'Synced', commit_applied: third },
      ],
    },
  });
  expect((await run('resume', 'sales')).exitCode).toBe(0);
  const fourth = repository.commit('main', files('four'));
  await reported({
    state: 'Synced',
    report: { commit_applied: fourth, state: 'Synced', error: null },
  });
  daemon.child.kill('SIGKILL');
  await daemon.ended;
  await server.database.db.updateTable('sync_leases').set({ expires_at: 0 }).execute();
  expect(await status()).toMatchObject({ lease: null, revision: { commit: fourth } });
});
