/** Prepares the permitted signing keys for the programs that verify signatures. */
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

/** The signatures that a commit or tag must have. At least one of the two key lists is set. */
export interface SignatureRules {
  readonly on: 'commit' | 'tag' | 'tag-and-commit';
  /** Public keys as exported by gpg. */
  readonly gpgKeysFile?: string | undefined;
  /** In the ALLOWED SIGNERS format of ssh-keygen(1). */
  readonly allowedSignersFile?: string | undefined;
  /** Public keys, or a KRL of ssh-keygen, whose SSH signatures no longer count. */
  readonly revokedSignersFile?: string | undefined;
}

/** The permitted keys: their names, and the git settings that use them. */
export interface Signers {
  /** gpg home with exactly the permitted keys. */
  readonly gpgHome: string;
  /** Settings of git. */
  readonly settings: readonly string[];
  /** Display name of each key: `GPG 0123… (Alice <alice@example.com>)`. */
  readonly allowed: readonly string[];
}

/** The folder of the layout, and limits of the programs that create it. */
export interface SignerOptions extends ChildLimits {
  readonly cacheDirectory: string;
}

/** The contents of the files at one moment, which everything that follows uses. */
interface KeyTexts {
  readonly gpgKeys: Buffer | null;
  readonly allowedSigners: Buffer | null;
  readonly revokedSigners: Buffer | null;
}

const outputBytesMax = 4 * 1024 * 1024;
const excess = 'The files of permitted keys contain more than can be read.';

/**
 * git asks whether a key was valid at the time in the commit, which the holder of an expired key
 * can choose. Without that argument ssh-keygen uses the current time.
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

/** gpg queries no key server, starts no daemon, and trusts the keys in the user's file. */
const gpgSettings = [
  'no-autostart',
  'no-auto-key-retrieve',
  'no-auto-key-locate',
  'trust-model always',
  '',
].join('\n');

/**
 * Changes when other keys are permitted, or other signatures are required.
 *
 * @throws Failure 5 when a file cannot be read
 */
export function digestOfRules(rules: SignatureRules): string {
  return digestOf(rules, readKeys(rules));
}

/**
 * Creates the layout in a folder named after its contents, completely or not at all, so that
 * verification uses the files as read once.
 *
 * @throws Failure 5 when a file cannot be read or contains no key, 6 without gpg
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
    const text = `${setting} names a file that cannot be read (${code}): ${file}. The source is not read until this is resolved.`;
    throw new Failure('invalidInput', text, { cause: error });
  }
  const text = `${setting} names a file that contains a private key: ${file}. Signatures are verified with public keys; take the private one away from here.`;
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
    // Without these files git would verify against nothing, or not report the signer.
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
      // Another process has created the same layout meanwhile.
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
    // Subkeys have fingerprints too; the first one is the primary key's.
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

/** One key a line: principals, options, type and the key in base64. */
function listAllowedSigners(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const key = line.startsWith('#') ? undefined : allowedSigner.exec(line)?.[1];
    if (key === undefined) return [];
    const principals = line.split(/\s/)[0] ?? '';
    return [`SSH ${sshFingerprint(Buffer.from(key, 'base64'))} (${oneLine(principals)})`];
  });
}

/** In the format of ssh-keygen. */
export function sshFingerprint(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;
}

function noGpgKey({ gpgKeysFile }: SignatureRules, reason: string): Failure {
  const text = [
    `GATEWRIGHT_GIT_GPG_KEYS_FILE names a file that contains no public key: ${gpgKeysFile}.`,
    oneLine(reason.trim().split('\n').at(-1) ?? ''),
    'Create it with: gpg --armor --export FINGERPRINT > FILE',
  ];
  return new Failure('invalidInput', text.filter((line) => line !== '').join('\n'));
}

function noSshKey({ allowedSignersFile }: SignatureRules): Failure {
  const text = `GATEWRIGHT_GIT_ALLOWED_SIGNERS_FILE names a file that contains no key: ${allowedSignersFile}.
Each of its lines has a form as: alice@example.com ssh-ed25519 AAAA…`;
  return new Failure('invalidInput', text);
}
