/** Tests that Git over ssh connects to known hosts only, and distinguishes changed from unknown keys. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import { openGit } from '../../../src/sync/source/git.ts';
import type { GitAccess } from '../../../src/sync/source/git-command.ts';
import type { Source } from '../../../src/sync/source/source-files.ts';
import { missingSshd, type SshServer, startSshServer } from '../../support/git/ssh-server.ts';
import { titleWithReason } from '../../support/run/missing-program.ts';

const why = missingSshd();

describe.skipIf(why !== null)(titleWithReason('Git over ssh', why), () => {
  let server: SshServer;
  let url: string;

  beforeAll(async () => {
    server = await startSshServer();
    url = server.repository('gw');
  });
  afterAll(async () => server[Symbol.asyncDispose]());

  const name = (): string => `[127.0.0.1]:${server.port}`;

  function open(knownHosts: string, access: Partial<GitAccess> = {}): Source {
    const knownHostsFile = server.path('known hosts');
    writeFileSync(knownHostsFile, knownHosts);
    const ssh = { sshKeyFile: server.keyFile, knownHostsFile, ...access };
    return openGit(url, { cacheDirectory: server.path('cache'), access: ssh });
  }

  const known = (): string => `${name()} ${server.hostKey.publicKey}\n`;

  async function messageOf(source: Source): Promise<string> {
    const outcome = await source.newest().then(
      () => new Error('expected a failure'),
      (error: unknown) => error,
    );
    expect(outcome).toBeInstanceOf(Failure);
    expect((outcome as Failure).kind).toBe('unreachable');
    return (outcome as Failure).message;
  }

  /** Runs the commands of a message. */
  function obey(message: string): void {
    const lines = message.split('\n').filter((line) => line.startsWith('    '));
    execFileSync('sh', ['-e', '-c', lines.join('\n')], { stdio: 'pipe' });
  }

  it('reads from a known host, also by paths from the working directory', async () => {
    const read = await open(known()).read();
    expect(read.files.map(({ content }) => content.toString())).toEqual(['a: 1\n']);
    const near = (path: string): string => relative(process.cwd(), path);
    const access = {
      sshKeyFile: near(server.keyFile),
      knownHostsFile: near(server.path('known hosts')),
    };
    expect((await open(known(), access).read()).files.length).toBe(1);
  });

  it('rejects an unknown host, with the key that it offers and the command that trusts it', async () => {
    const source = open('other.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA==\n');
    const message = await messageOf(source);
    expect(message).toContain(`the host ${name()} is unknown.`);
    expect(message).toContain(`offered now:  ED25519 ${server.hostKey.fingerprint}`);
    expect(message).toContain(`known:        none in ${server.path('known hosts')}`);
    expect(message).not.toContain('CHANGED');
    obey(message);
    expect((await source.read()).files.length).toBe(1);
  });

  it('rejects a host whose key has changed, with both keys and the command that accepts the new one', async () => {
    const before = server.hostKey;
    const source = open(`# our hosts\n${known()}`);
    await source.read();
    await server.changeHostKey();
    const message = await messageOf(source);
    expect(message).toContain(`the key of the host ${name()} has CHANGED.`);
    expect(message).toContain(`offered now:  ED25519 ${server.hostKey.fingerprint}`);
    const place = `${server.path('known hosts')}:2`;
    expect(message).toContain(`known:        ED25519 ${before.fingerprint} (${place})`);
    expect(message).not.toContain('unknown');
    const bytes = readFileSync(server.path('known hosts'), 'utf8');
    expect(bytes).not.toContain(server.hostKey.publicKey);
    obey(message);
    expect((await source.read()).files.length).toBe(1);
  });

  it('finds a host whose name is hashed, and never suggests accepting a revoked key', async () => {
    const other =
      'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFT+zI1Lx4r0Q8WmGFD4gF8Ct4gTXHVRT4YlXtOUJZAn';
    open(`${name()} ${other}\n`);
    execFileSync('ssh-keygen', ['-H', '-f', server.path('known hosts')], { stdio: 'pipe' });
    const hashed = readFileSync(server.path('known hosts'), 'utf8');
    expect(hashed).not.toContain('127.0.0.1');
    expect(await messageOf(open(hashed))).toMatch(/CHANGED[\s\S]*known: +ED25519 SHA256:/);
    const revoked = await messageOf(open(`@revoked ${known()}`));
    expect(revoked).toContain('is marked as revoked');
    expect(revoked).not.toContain('ssh-keyscan');
  });

  it('reports a user key that is rejected, and runs only git', async () => {
    const stranger = server.path('stranger');
    if (!existsSync(stranger)) {
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', stranger]);
    }
    expect(await messageOf(open(known(), { sshKeyFile: stranger }))).toContain(
      'The token or key was not accepted',
    );
    const missing = openGit(`${url}x`, {
      cacheDirectory: server.path('cache'),
      access: { sshKeyFile: server.keyFile, knownHostsFile: server.path('known hosts') },
    });
    expect(await messageOf(missing)).toContain('Name the folder that contains .git');
  });
});
