/** Runs git isolated from the user's environment, with a deadline. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Failure } from '../../failure.ts';
import type { Proxies } from '../../remote/proxies.ts';
import type { Secret } from '../../secret.ts';
import { type ChildRun, runChild, searchPath } from './child-program.ts';
import { removeCutOff, removeLocksSince } from './git-leftovers.ts';
import type { SignatureRules, Signers } from './git-signers.ts';

/** How a repository is accessed; absent settings are not used. */
export interface GitAccess {
  /** Password or token for https. */
  readonly token?: Secret | undefined;
  /** User name for the token. */
  readonly username?: string | undefined;
  /** CA certificates (PEM) to trust for https instead of the system's. */
  readonly caFile?: string | undefined;
  /** Private key for ssh; the agent and the user's keys when absent. */
  readonly sshKeyFile?: string | undefined;
  readonly knownHostsFile?: string | undefined;
  /** Socket of a running ssh-agent. */
  readonly sshAgentSocket?: string | undefined;
  /** Proxies for https; none when absent. */
  readonly proxies?: Proxies | null | undefined;
  /** Required signatures and permitted signers; none when absent. */
  readonly signatures?: SignatureRules | undefined;
}

export interface GitOptions {
  /** Folder of this program, which contains git's home and helper script. */
  readonly cacheDirectory: string;
  readonly access: GitAccess;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** Size limit of files that git writes; a fetch writes one. */
  readonly fetchBytesMax: number;
}

export interface GitRun extends ChildRun {
  /** Last lines of the output, printable. */
  readonly message: string;
}

export interface GitCommand {
  readonly arguments: readonly string[];
  readonly repository?: string;
  /** Folder of the objects to read instead of the repository's own. */
  readonly objects?: string;
  readonly input?: string;
  /** For a command that verifies signatures. */
  readonly signers?: Signers;
  /** Makes ssh print the key that the host offers. */
  readonly tellsHostKey?: boolean;
  /** It fetches, and the size of written files is limited. */
  readonly writesFiles?: boolean;
  /** Protocols that may be used to reach another repository. */
  readonly speaks: 'https:ssh' | 'file' | 'none';
  readonly outputBytesMax: number;
}

const messageLengthMax = 600;
const excess =
  'The repository holds more files than can be read. Name a folder of it: URL#ref:folder';

/** Settings that prevent git from running other programs or following other configuration. */
const safeguards = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.sshCommand=',
  'protocol.ext.allow=never',
  'protocol.file.allow=never',
  'http.followRedirects=false',
  'transfer.fsckObjects=true',
  'fetch.fsckObjects=true',
  'credential.helper=',
  'submodule.recurse=false',
  'gc.autoDetach=false',
  // One pack file for a fetch, with large blobs streamed.
  'fetch.unpackLimit=1',
  'core.bigFileThreshold=2m',
  'http.lowSpeedLimit=1',
  'http.lowSpeedTime=30',
];

/**
 * Runs git in a fixed environment. Resolves with any exit status.
 *
 * @throws Failure 6 when git is not installed or its deadline passes, 5 when it writes more than
 *   `outputBytesMax`; the signal's reason when aborted.
 */
export async function runGit(command: GitCommand, options: GitOptions): Promise<GitRun> {
  const home = prepareHome(options.cacheDirectory);
  const { repository: folder = home, input, outputBytesMax, writesFiles = false } = command;
  const blocks = String(Math.ceil(options.fetchBytesMax / 512));
  const program = {
    name: 'git' as const,
    ...(writesFiles ? { through: ['sh', '-c', bounded, blocks] } : {}),
    arguments: argumentsOf(command, options.access),
    environment: environmentOf(command, options, home),
    folder,
    input,
    outputBytesMax,
    excess,
  };
  const startedAt = Date.now();
  try {
    const run = await runChild(program, options);
    const hasFailed = writesFiles && run.status !== 0;
    if (hasFailed && removeCutOff(folder, options.fetchBytesMax)) throw tooLargeToFetch(options);
    return { ...run, message: readable(run.stderr) };
  } catch (error) {
    if (writesFiles) removeLocksSince(folder, startedAt);
    throw error;
  }
}

/** The limit is in blocks of 512 bytes. */
const bounded = 'ulimit -f "$0" && exec git "$@"';

function tooLargeToFetch({ fetchBytesMax }: GitOptions): Failure {
  const text = `The repository sends more than ${Math.floor(fetchBytesMax / 1024 ** 2)} MiB for one commit. Keep the manifests in a repository of their own.`;
  return new Failure('invalidInput', text);
}

function argumentsOf({ signers, arguments: words }: GitCommand, access: GitAccess): string[] {
  const settings = [...safeguards];
  settings.push(...(signers?.settings ?? []));
  if (access.caFile !== undefined) settings.push(`http.sslCAInfo=${resolve(access.caFile)}`);
  return [...settings.flatMap((setting) => ['-c', setting]), ...words];
}

function environmentOf(
  command: GitCommand,
  { access, cacheDirectory }: GitOptions,
  home: string,
): Record<string, string> {
  const environment: Record<string, string> = {
    PATH: searchPath,
    HOME: home,
    // The cache may be inside a working tree, whose settings must not apply.
    GIT_CEILING_DIRECTORIES: resolve(cacheDirectory),
    LC_ALL: 'C.UTF-8',
    GIT_ALLOW_PROTOCOL: command.speaks,
    GIT_NO_LAZY_FETCH: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_SSH_VARIANT: 'ssh',
    GIT_SSH_COMMAND: sshCommand(access, command.tellsHostKey === true),
    GIT_ASKPASS: join(home, askpassName),
    SSH_ASKPASS_REQUIRE: 'never',
  };
  if (command.signers !== undefined) environment.GNUPGHOME = command.signers.gpgHome;
  if (command.objects !== undefined) environment.GIT_OBJECT_DIRECTORY = command.objects;
  if (access.sshAgentSocket !== undefined) environment.SSH_AUTH_SOCK = access.sshAgentSocket;
  if (command.speaks === 'https:ssh' && access.token !== undefined) {
    environment.GATEWRIGHT_GIT_USERNAME = access.username ?? 'x-access-token';
    environment.GATEWRIGHT_GIT_PASSWORD = access.token.reveal();
  }
  if (command.speaks === 'https:ssh') Object.assign(environment, proxyEnvironment(access.proxies));
  return environment;
}

/** In the form of libcurl, which git uses for https. */
function proxyEnvironment(proxies: GitAccess['proxies']): Record<string, string> {
  if (proxies?.https === undefined) return {};
  const exempt = ['localhost', '127.0.0.1', '::1', ...proxies.exempt];
  return { https_proxy: proxies.https.reveal().href, no_proxy: exempt.join(',') };
}

/** git passes the text to a shell, so paths are quoted. */
function sshCommand({ sshKeyFile, knownHostsFile }: GitAccess, isTalkative: boolean): string {
  const level = isTalkative ? 'DEBUG1' : 'INFO';
  const settings = ['BatchMode=yes', 'StrictHostKeyChecking=yes', 'ConnectTimeout=15'];
  const parts = ['ssh', ...[...settings, `LogLevel=${level}`].map((setting) => `-o ${setting}`)];
  if (sshKeyFile !== undefined) {
    parts.push(`-o ${fileSetting('IdentityFile', sshKeyFile)} -o IdentitiesOnly=yes`);
  }
  if (knownHostsFile !== undefined) {
    parts.push(`-o ${fileSetting('UserKnownHostsFile', knownHostsFile)}`);
  }
  return parts.join(' ');
}

/** ssh splits lists of files at blanks and expands percent signs. */
function fileSetting(name: string, file: string): string {
  const path = resolve(file).replaceAll(/["\\]/g, String.raw`\$&`).replaceAll('%', '%%');
  return quotedForShell(`${name}="${path}"`);
}

/** Quotes a word for a POSIX shell. */
export function quotedForShell(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

const askpassName = 'askpass.sh';
/** Answers git's two prompts from the environment of this command; contains no secret itself. */
const askpassScript = `#!/bin/sh
case "$1" in
  Username*) printf '%s\\n' "$GATEWRIGHT_GIT_USERNAME" ;;
  *) printf '%s\\n' "$GATEWRIGHT_GIT_PASSWORD" ;;
esac
`;

/** Creates an empty home for git, with the script that answers its password prompts. */
function prepareHome(cacheDirectory: string): string {
  const home = join(cacheDirectory, 'git-home');
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(join(home, askpassName), askpassScript, { mode: 0o700 });
  return home;
}

function readable(stderr: string): string {
  const lines = stderr
    .replaceAll(/[^\x20-\x7e\n]/g, '?')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return lines.slice(-4).join('\n').slice(-messageLengthMax);
}
