/** Knows whose signatures count: the keys that the user permits, laid out for the programs that verify. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../../failure.ts';
import { oneLine } from '../../terminal-text.ts';
import { type ChildLimits, type ChildRun, runChild, searchPath } from './child-program.ts';

/** Whose signatures a commit or tag must carry. At least one of the two lists of keys is given. */
export interface SignatureRules {
  readonly on: 'commit' | 'tag' | 'tag-and-commit';
  /** Public keys as gpg exports them. */
  readonly gpgKeysFile?: string | undefined;
  /** In the form of ssh-keygen(1), ALLOWED SIGNERS. */
  readonly allowedSignersFile?: string | undefined;
  /** Public keys, or a list as ssh-keygen makes it, whose SSH signatures count no more. */
  readonly revokedSignersFile?: string | undefined;
}

/** The permitted keys as they were read: what they are called, and how git is told of them. */
export interface Signers {
  /** Folder of gpg that holds the permitted keys and nothing else. */
  readonly gpgHome: string;
  /** Settings of git. */
  readonly settings: readonly string[];
  /** Of each key what people know it by: `GPG 0123… (Alice <alice@example.com>)`. */
  readonly allowed: readonly string[];
}

/** Where the layout lies, and what bounds the programs that make it. */
export interface SignerOptions extends ChildLimits {
  readonly cacheDirectory: string;
}

/** The contents of the files at one moment; all that follows is about these. */
interface KeyTexts {
  readonly gpgKeys: Buffer | null;
  readonly allowedSigners: Buffer | null;
  readonly revokedSigners: Buffer | null;
}

const outputBytesMax = 4 * 1024 * 1024;
const excess = 'The files of permitted keys hold more than can be read.';

/**
 * git asks whether a key was valid at the time that a commit gives itself, which whoever has an
 * expired key can choose. Without that word ssh-keygen takes the present.
 */
const verifyScript = `#!/bin/sh
for word do
  shift
  case "$word" in
    -Overify-time=*) ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec ssh-keygen "$@"
`;

/** gpg asks nobody else for keys, starts nothing, and trusts whom the user has put into the file. */
const gpgSettings = [
  'no-autostart',
  'no-auto-key-retrieve',
  'no-auto-key-locate',
  'trust-model always',
  '',
].join('\n');

/**
 * What changes when other keys are permitted, or other things have to be signed.
 *
 * @throws Failure 5 when a file cannot be read
 */
export function digestOfRules(rules: SignatureRules): string {
  return digestOf(rules, readKeys(rules));
}

/**
 * Lays the keys out in a folder of their contents' name, which is whole or not there, so that what
 * verifies sees the files as they were read once.
 *
 * @throws Failure 5 when a file cannot be read or holds no key, 6 without gpg
 */
export async function openSigners(rules: SignatureRules, options: SignerOptions): Promise<Signers> {
  const keys = readKeys(rules);
  const folder = join(options.cacheDirectory, `signers-${digestOf(rules, keys).slice(0, 32)}`);
  if (!existsSync(folder)) await layOut(folder, rules, keys, options);
  const gpgHome = join(folder, 'gpg');
  const settings = [
    `gpg.ssh.program=${join(folder, 'verify-now.sh')}`,
    `gpg.ssh.allowedSignersFile=${join(folder, 'allowed_signers')}`,
    'gpg.x509.program=false',
  ];
  if (keys.revokedSigners !== null) {
    settings.push(`gpg.ssh.revocationFile=${join(folder, 'revoked_signers')}`);
  }
  const gpg = keys.gpgKeys === null ? [] : await listGpgKeys(gpgHome, options);
  if (keys.gpgKeys !== null && gpg.length === 0) throw noGpgKey(rules, '');
  const ssh = listAllowedSigners(keys.allowedSigners?.toString('utf8') ?? '');
  if (keys.allowedSigners !== null && ssh.length === 0) throw noSshKey(rules);
  return { gpgHome, settings, allowed: [...gpg, ...ssh] };
}

function readKeys(rules: SignatureRules): KeyTexts {
  const { gpgKeysFile, allowedSignersFile, revokedSignersFile } = rules;
  return {
    gpgKeys: readKeyFile('GATEWRIGHT_GIT_GPG_KEYS_FILE', gpgKeysFile),
    allowedSigners: readKeyFile('GATEWRIGHT_GIT_ALLOWED_SIGNERS_FILE', allowedSignersFile),
    revokedSigners: readKeyFile('GATEWRIGHT_GIT_REVOKED_SIGNERS_FILE', revokedSignersFile),
  };
}

function readKeyFile(setting: string, file: string | undefined): Buffer | null {
  if (file === undefined) return null;
  try {
    const content = readFileSync(file);
    if (!content.includes('PRIVATE KEY')) return content;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const text = `${setting} names a file that cannot be read (${code}): ${file}. Nothing is read of the source meanwhile.`;
    throw new Failure('invalidInput', text, { cause: error });
  }
  const text = `${setting} names a file that holds a private key: ${file}. Signatures are verified with public keys; take the private one away from here.`;
  throw new Failure('invalidInput', text);
}

function digestOf({ on }: SignatureRules, keys: KeyTexts): string {
  const hash = createHash('sha256');
  const { gpgKeys, allowedSigners, revokedSigners } = keys;
  for (const text of [on, verifyScript, gpgSettings, gpgKeys, allowedSigners, revokedSigners]) {
    hash.update(text === null ? 'none;' : `${Buffer.byteLength(text)};`).update(text ?? '');
  }
  return hash.digest('hex');
}

async function layOut(
  folder: string,
  rules: SignatureRules,
  { gpgKeys, allowedSigners, revokedSigners }: KeyTexts,
  options: SignerOptions,
): Promise<void> {
  mkdirSync(options.cacheDirectory, { recursive: true, mode: 0o700 });
  const draft = mkdtempSync(`${folder}-`);
  try {
    const gpgHome = join(draft, 'gpg');
    mkdirSync(gpgHome, { mode: 0o700 });
    writeFileSync(join(gpgHome, 'gpg.conf'), gpgSettings);
    writeFileSync(join(draft, 'verify-now.sh'), verifyScript, { mode: 0o700 });
    // Without them git would verify against nothing, or not tell whose signature it was.
    writeFileSync(join(draft, 'allowed_signers'), allowedSigners ?? '');
    writeFileSync(join(draft, 'revoked_signers'), revokedSigners ?? '');
    if (gpgKeys !== null) {
      const run = await runGpg(['--import'], gpgHome, options, gpgKeys);
      if (run.status !== 0) throw noGpgKey(rules, run.stderr);
    }
    try {
      renameSync(draft, folder);
    } catch (error) {
      if (!existsSync(folder)) throw error;
      // Another process has made the same meanwhile.
    }
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function runGpg(
  words: readonly string[],
  home: string,
  options: SignerOptions,
  input: Buffer | '' = '',
): Promise<ChildRun> {
  const program = {
    name: 'gpg' as const,
    arguments: ['--batch', '--no-tty', '--homedir', home, ...words],
    folder: home,
    environment: { PATH: searchPath, HOME: home, GNUPGHOME: home, LC_ALL: 'C.UTF-8' },
    input,
    outputBytesMax,
    excess,
  };
  return runChild(program, options);
}

async function listGpgKeys(home: string, options: SignerOptions): Promise<string[]> {
  const { stdout } = await runGpg(['--with-colons', '--list-keys'], home, options);
  const keys: { fingerprint: string; state: string; user: string }[] = [];
  for (const line of stdout.toString('utf8').split('\n')) {
    const fields = line.split(':');
    const last = keys.at(-1);
    if (fields[0] === 'pub') keys.push({ fingerprint: '', state: fields[1] ?? '', user: '' });
    if (last === undefined) continue;
    // A subkey has a fingerprint, too; the first one is the key's own.
    if (fields[0] === 'fpr' && last.fingerprint === '') last.fingerprint = fields[9] ?? '';
    if (fields[0] === 'uid' && last.user === '') last.user = oneLine(fields[9] ?? '');
  }
  return keys.map(({ fingerprint, state, user }) => {
    const ended = state === 'r' ? ', revoked' : state === 'e' ? ', expired' : '';
    return `GPG ${fingerprint} (${user}${ended})`;
  });
}

const allowedSigner =
  /(?:^|[\s,])(?:sk-)?(?:ssh-|ecdsa-sha2-)[\w@.-]+\s+([A-Za-z0-9+/]{20,}={0,2})(?:\s|$)/;

/** One line a key: principals, options, type and the key in base64. */
function listAllowedSigners(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const key = line.startsWith('#') ? undefined : allowedSigner.exec(line)?.[1];
    if (key === undefined) return [];
    const principals = line.split(/\s/)[0] ?? '';
    return [`SSH ${sshFingerprint(Buffer.from(key, 'base64'))} (${oneLine(principals)})`];
  });
}

/** As ssh-keygen writes it. */
export function sshFingerprint(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;
}

function noGpgKey({ gpgKeysFile }: SignatureRules, reason: string): Failure {
  const text = [
    `GATEWRIGHT_GIT_GPG_KEYS_FILE names a file that holds no public key: ${gpgKeysFile}.`,
    oneLine(reason.trim().split('\n').at(-1) ?? ''),
    'Write it with: gpg --armor --export FINGERPRINT > FILE',
  ];
  return new Failure('invalidInput', text.filter((line) => line !== '').join('\n'));
}

function noSshKey({ allowedSignersFile }: SignatureRules): Failure {
  const text = `GATEWRIGHT_GIT_ALLOWED_SIGNERS_FILE names a file that holds no key: ${allowedSignersFile}.
Each of its lines has a form as: alice@example.com ssh-ed25519 AAAA…`;
  return new Failure('invalidInput', text);
}
