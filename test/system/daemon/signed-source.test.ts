/** Tests that daemon and commands apply only what permitted keys have signed, by the current key files. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startGitServer } from '../../support/git/git-server.ts';
import { SigningRoom, signCommit } from '../../support/git/git-signers.ts';
import { missingProgram, titleWithReason } from '../../support/run/missing-program.ts';
import { startSyncServer } from '../../support/sync/sync-setup.ts';
import { runCli } from '../commands/run-cli.ts';
import { type DaemonEvent, startDaemon, writeCredentials } from './daemon-process.ts';

const workspace = (description: string): string => `
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: support}
spec: {description: ${description}}
`;

const why = missingProgram(['ssh-keygen']);
const title = 'changes nothing for an unsigned commit, and applies a changed list of keys at once';

it.skipIf(why !== null)(titleWithReason(title, why), async () => {
  await using server = await startSyncServer();
  await using git = await startGitServer();
  using room = new SigningRoom();
  const folder = mkdtempSync(join(tmpdir(), 'gw-signed-'));
  try {
    writeCredentials(folder, server);
    const [carol, dave] = [room.ssh(), room.ssh()];
    const signers = join(folder, 'allowed_signers');
    writeFileSync(signers, `carol@example.com ${carol.publicKey}\n`);
    const repository = git.repository('gw');
    const location = `${repository.url}#main`;
    const env = {
      GATEWRIGHT_CREDENTIALS: 'credentials.json',
      GATEWRIGHT_GIT_CA_FILE: git.caFile,
      GATEWRIGHT_GIT_VERIFY: 'commit',
      GATEWRIGHT_GIT_ALLOWED_SIGNERS_FILE: 'allowed_signers',
    };
    const run = (words: readonly string[]) => runCli(words, null, { cwd: folder, env });
    const described = async (): Promise<unknown> => {
      const { body } = await server.request('GET', '/v2/workspaces');
      return body.data.find(({ name }: { name: string }) => name === 'support')?.description;
    };
    const cycleOf = (sha: string) => (event: DaemonEvent) =>
      event.event === 'cycle' && event.source.sha === sha && event.exitCode === 0;

    repository.commit('main', { 'a.yaml': workspace('one') });
    const first = signCommit(repository, 'main', carol);
    await using daemon = startDaemon(folder, [location, '--interval', '1s'], env);
    await daemon.find(cycleOf(first));
    expect(await described()).toBe('one');

    repository.commit('main', { 'a.yaml': workspace('two') });
    const refused = await daemon.find(({ event }) => event === 'failure');
    expect(refused).toMatchObject({ ending: 'refusedByGuard', retryAt: null });
    expect(refused.message).toContain('is not signed.');
    expect(refused.message).toContain(`SSH ${carol.fingerprint} (carol@example.com)`);
    for (const words of [
      ['plan', location],
      ['apply', location, '--yes'],
      ['validate', location],
    ]) {
      const { exitCode, stderr } = await run(words);
      expect([exitCode, stderr]).toEqual([4, expect.stringContaining('is not signed.')]);
    }

    const third = signCommit(repository, 'main', dave);
    const reported = await daemon.find(
      ({ event, message }) => event === 'failure' && message.includes(dave.fingerprint),
    );
    expect(reported.message).toContain('which is not permitted.');
    expect(await described()).toBe('one');
    writeFileSync(signers, `dave@example.com ${dave.publicKey}\n`);
    await daemon.find(cycleOf(third));
    expect(await described()).toBe('two');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
