/** Explains a rejected ssh host key, with the commands that resolve it. */
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { Failure } from '../../failure.ts';
import { oneLine } from '../../terminal-text.ts';
import { runChild, searchPath } from './child-program.ts';
import { type GitOptions, quotedForShell, runGit } from './git-command.ts';

/** A key by which a host is known. */
interface KnownKey {
  /** `ED25519 SHA256:…` */
  readonly key: string;
  readonly file: string;
  readonly line: string;
}

const outputBytesMax = 1024 * 1024;
const excess = 'The files of known hosts contain more keys of this host than can be read.';
const systemFile = '/etc/ssh/ssh_known_hosts';

/** Returns whether git's message says that ssh rejected the host key. */
export function isHostKeyRefused(message: string): boolean {
  return /host key verification failed/i.test(message);
}

/**
 * Queries the offered key of the host and the known ones: without known keys the host is new,
 * otherwise its key has changed.
 *
 * @throws as `runGit`
 */
export async function hostKeyFailure(url: string, options: GitOptions): Promise<Failure> {
  const { stderr, message } = await runGit(
    {
      arguments: ['ls-remote', '--quiet', '--', url],
      tellsHostKey: true,
      speaks: 'https:ssh',
      outputBytesMax,
    },
    options,
  );
  const [, form = '', offered = ''] =
    /^debug1: Server host key: (\S+) (SHA256:\S+)/m.exec(stderr) ?? [];
  const name = nameFrom(stderr) ?? nameOf(url);
  const { knownHostsFile } = options.access;
  const own = knownHostsFile ?? join(userInfo().homedir, '.ssh', 'known_hosts');
  const known: KnownKey[] = [];
  for (const file of [resolve(own), systemFile]) {
    known.push(...(await knownIn(file, name, options)));
  }
  const isRevoked = /is marked as revoked|REVOKED HOST KEY/i.test(stderr);
  const isKnown = known.some(({ key }) => key.endsWith(` ${offered}`));
  if (isKnown && !isRevoked) return new Failure('unreachable', `Cannot read ${url}:\n${message}`);
  const facts = { name, form, offered: oneLine(offered), known, file: resolve(own) };
  return new Failure('unreachable', isRevoked ? revokedText(url, facts) : text(url, facts));
}

interface Facts {
  /** As in known_hosts: `git.example.com`, `[git.example.com]:2222`. */
  readonly name: string;
  /** As ssh names it: `ssh-ed25519`. */
  readonly form: string;
  readonly offered: string;
  readonly known: readonly KnownKey[];
  /** The file to which a key is added. */
  readonly file: string;
}

function text(url: string, { name, form, offered, known, file }: Facts): string {
  const scan = scanLine(name, form, file);
  const isNew = known.length === 0;
  const lines = [
    isNew
      ? `Cannot read ${url}: the host ${name} is unknown.`
      : `Cannot read ${url}: the key of the host ${name} has CHANGED. Somebody may be intercepting the connection, or the host was reinstalled.`,
    `  offered now:  ${typeOf(form).toUpperCase()} ${offered}`,
    ...keyLines(known, file),
    isNew
      ? '  If the operator of the host confirms the offered key:'
      : '  Only if the operator of the host confirms the offered key:',
    ...[...new Set(known.map((key) => key.file))].map(
      (place) => `    ssh-keygen -R ${quotedForShell(name)} -f ${quotedForShell(place)}`,
    ),
    `    ${scan}`,
  ];
  return lines.join('\n');
}

function revokedText(url: string, { name, form, offered, known, file }: Facts): string {
  return [
    `Cannot read ${url}: the key that the host ${name} offers is marked as revoked. Do not continue; ask the operator of the host.`,
    `  offered now:  ${typeOf(form).toUpperCase()} ${offered}`,
    ...keyLines(known, file),
  ].join('\n');
}

function keyLines(known: readonly KnownKey[], file: string): string[] {
  if (known.length === 0) return [`  known:        none in ${file}`];
  return known.map(({ key, file, line }) => `  known:        ${key} (${file}:${line})`);
}

function scanLine(name: string, form: string, file: string): string {
  const [, bracketed, port] = /^\[(.*)\]:(\d+)$/.exec(name) ?? [];
  const words = ['ssh-keyscan', '-t', typeOf(form)];
  if (port !== undefined) words.push('-p', port);
  return `${[...words, quotedForShell(bracketed ?? name)].join(' ')} >> ${quotedForShell(file)}`;
}

/** As ssh-keyscan names it. */
function typeOf(form: string): string {
  if (form.startsWith('ecdsa')) return 'ecdsa';
  return form === 'ssh-ed25519' ? 'ed25519' : 'rsa';
}

/** Returns the name by which ssh looks up the host, which its configuration may have changed. */
function nameFrom(stderr: string): string | undefined {
  const words = /host key is known for (\S+) and|Host key for (\S+) has changed/i.exec(stderr);
  const name = words?.[1] ?? words?.[2];
  return name === undefined ? undefined : oneLine(name);
}

function nameOf(url: string): string {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return port === '' || port === '22' ? host : `[${host}]:${port}`;
}

async function knownIn(file: string, name: string, options: GitOptions): Promise<KnownKey[]> {
  if (!existsSync(file)) return [];
  const { stdout } = await runChild(
    {
      name: 'ssh-keygen',
      arguments: ['-l', '-F', name, '-f', file],
      folder: '/',
      environment: { PATH: searchPath, LC_ALL: 'C.UTF-8' },
      outputBytesMax,
      excess,
    },
    options,
  );
  let line = '';
  return stdout
    .toString('utf8')
    .split('\n')
    .flatMap((text) => {
      line = /^# Host .* found: line (\d+)/.exec(text)?.[1] ?? line;
      const [, type, fingerprint] = /^\S+ (\S+) (SHA256:\S+)/.exec(text) ?? [];
      return type === undefined ? [] : [{ key: `${type} ${fingerprint}`, file, line }];
    });
}
