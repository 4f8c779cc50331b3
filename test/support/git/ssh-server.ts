/** Serves Git repositories through a real sshd, which runs git-shell and nothing else. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { spawnWithLeash } from '../../../src/embedded/leash.ts';
import { missingProgram } from '../run/missing-program.ts';
import { eventually } from '../server/eventually.ts';

export interface SshServer extends AsyncDisposable {
  readonly port: number;
  /** The authorised private key. */
  readonly keyFile: string;
  /** `ssh-ed25519 AAAA…` of the host, and its fingerprint. */
  readonly hostKey: { readonly publicKey: string; readonly fingerprint: string };
  /** The path of a file in the folder of this server. */
  path(name: string): string;
  /** `ssh://user@127.0.0.1:port/path` of a new repository with one manifest. */
  repository(name: string): string;
  /** Restarts on the same port with another host key. */
  changeHostKey(): Promise<void>;
}

const program = '/usr/sbin/sshd';

/** Returns why tests with a real sshd cannot run here; null when they can. */
export function missingSshd(): string | null {
  if (existsSync(program)) return missingProgram(['ssh-keygen', 'ssh-keyscan']);
  return `${program} is not installed. On Debian: apt install openssh-server`;
}

/** The address, and the command prefix that runs git in that network. */
interface SshPlace {
  readonly address: string;
  readonly enter: readonly string[];
}

export async function startSshServer(
  place: SshPlace = { address: '127.0.0.1', enter: [] },
): Promise<SshServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-ssh-'));
  // sshd requires it, even when it stays in the foreground.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const port = await freePort();
  const path = (name: string): string => join(folder, name);
  const keygen = (name: string): { publicKey: string; fingerprint: string } => {
    rmSync(path(name), { force: true });
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', path(name)]);
    const fingerprint = execFileSync('ssh-keygen', ['-lf', path(name)])
      .toString()
      .split(' ')[1]!;
    const publicKey = readFileSync(path(`${name}.pub`), 'utf8')
      .split(' ')
      .slice(0, 2)
      .join(' ');
    return { publicKey, fingerprint };
  };
  keygen('user');
  writeFileSync(path('sshd_config'), configuration(`${place.address}:${port}`, path));
  let hostKey = keygen('host');
  let child = await run(path, port, place);
  return {
    port,
    path,
    keyFile: path('user'),
    get hostKey() {
      return hostKey;
    },
    repository: (name) => createRepository(path(`${name}.git`), port),
    changeHostKey: async () => {
      await stop(child);
      hostKey = keygen('host');
      child = await run(path, port, place);
    },
    [Symbol.asyncDispose]: async () => {
      await stop(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function configuration(address: string, path: (name: string) => string): string {
  return `ListenAddress ${address}
HostKey ${path('host')}
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
AuthorizedKeysFile ${path('user.pub')}
ForceCommand git-shell -c "$SSH_ORIGINAL_COMMAND"
`;
}

async function run(
  path: (name: string) => string,
  port: number,
  { address, enter }: SshPlace,
): Promise<ChildProcess> {
  const [first, ...words] = [...enter, program, '-D', '-e', '-f', path('sshd_config')];
  const { child } = spawnWithLeash([first!, ...words], {
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  const end = Promise.withResolvers<never>();
  let isOver = false;
  const over = (error: Error): void => {
    isOver = true;
    end.reject(error);
  };
  child.once('error', over);
  child.once('exit', (code, signal) => over(new Error(`sshd ended (${code ?? signal})`)));
  // Also after a stop, which nobody awaits here.
  end.promise.catch(() => undefined);
  const answers = eventually(() => {
    if (isOver) return;
    const [scanner, ...options] = [...enter, 'ssh-keyscan', '-p', String(port), address];
    const scan = execFileSync(scanner!, options, { stdio: 'pipe' });
    if (scan.length === 0) throw new Error('sshd does not answer yet');
  });
  await Promise.race([answers, end.promise]);
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGTERM');
  await ended;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function createRepository(directory: string, port: number): string {
  const git = (words: readonly string[], input = ''): string => {
    const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
    return execFileSync('git', ['-C', directory, ...identity, ...words], { input })
      .toString()
      .trim();
  };
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', directory]);
  const blob = git(['hash-object', '-w', '--stdin'], 'a: 1\n');
  const tree = git(['mktree'], `100644 blob ${blob}\ta.yaml\n`);
  git(['update-ref', 'refs/heads/main', git(['commit-tree', tree, '-m', 'test'])]);
  return `ssh://${userInfo().username}@127.0.0.1:${port}${directory}`;
}
