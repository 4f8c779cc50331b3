/**
 * Verifies the required signatures of a source, and explains whose signature does not count and
 * why.
 */
import { Failure } from '../../failure.ts';
import { oneLine } from '../../terminal-text.ts';
import type { GitOptions } from './git-command.ts';
import type { GitHistory, SignedObject } from './git-history.ts';
import { describeGit, type GitLocation } from './git-location.ts';
import type { ResolvedRef } from './git-remote.ts';
import { openSigners, type SignatureRules, sshFingerprint } from './git-signers.ts';

const allowedListedMax = 10;

/**
 * Verifies what the rules require, against the keys that are permitted now.
 *
 * @throws Failure 4 when a signature is missing or does not count, with its key and the permitted
 *   ones; 5 when a key file cannot be used, or a tag is required and none is named
 */
export async function requireSignatures(
  location: GitLocation,
  { name, commit, tag }: ResolvedRef,
  given: { history: GitHistory; rules: SignatureRules; options: GitOptions },
): Promise<void> {
  const { history, rules, options } = given;
  if (rules.on !== 'commit' && !name.startsWith('refs/tags/')) throw noTag(location, rules);
  const signers = await openSigners(rules, options);
  const objects: ['commit' | 'tag', string][] = [];
  if (rules.on !== 'commit') {
    if (tag === null) throw refused(location, `${name} is a tag without a signature`, signers);
    objects.push(['tag', tag]);
  }
  if (rules.on !== 'tag') objects.push(['commit', commit]);
  for (const [kind, id] of objects) {
    const object = await history.verify(kind, id, signers);
    const what = kind === 'tag' ? name : `commit ${id.slice(0, 12)}`;
    if (object.run.status !== 0) {
      throw refused(location, `${what} ${reasonOf(object, signers.allowed)}`, signers);
    }
    // A signed tag can be published again under another name; the signed text contains its own.
    const signedName = /^tag (.*)$/m.exec(headersOf(object.text))?.[1];
    if (kind === 'tag' && name !== `refs/tags/${signedName}`) {
      const text = `${what} is signed as "${oneLine(signedName ?? '')}", which is a different tag`;
      throw refused(location, text, signers);
    }
  }
}

function noTag(location: GitLocation, { on }: SignatureRules): Failure {
  const text = `GATEWRIGHT_GIT_VERIFY is "${on}", and ${describeGit(location)} names no tag. Name one: URL#TAG`;
  return new Failure('invalidInput', text);
}

function refused(
  location: GitLocation,
  reason: string,
  { allowed }: { readonly allowed: readonly string[] },
): Failure {
  const hidden = allowed.length - allowedListedMax;
  const lines = [
    `Refused, and no file of it was read: ${describeGit(location)}`,
    `  ${reason}.`,
    `  Permitted: ${allowed.slice(0, allowedListedMax).join('\n             ')}`,
    ...(hidden > 0 ? [`             and ${hidden} more`] : []),
    '  Sign with one of these (git commit -S, git tag -s), or permit the key: GATEWRIGHT_GIT_GPG_KEYS_FILE,',
    '  GATEWRIGHT_GIT_ALLOWED_SIGNERS_FILE.',
  ];
  return new Failure('refusedByGuard', lines.join('\n'));
}

function headersOf(text: string): string {
  const end = text.indexOf('\n\n');
  return end < 0 ? text : text.slice(0, end);
}

/** Completes "commit 0123 …". */
function reasonOf({ kind, text, run }: SignedObject, allowed: readonly string[]): string {
  // A commit message may quote a signature; the real one is in the headers.
  const place = kind === 'commit' ? headersOf(text).replaceAll('\n ', '\n') : text;
  const begin = /-----BEGIN (SSH SIGNATURE|PGP SIGNATURE|PGP MESSAGE|SIGNED MESSAGE)-----/;
  const form = begin.exec(place)?.[1];
  if (form === undefined) return 'is not signed';
  if (form === 'SSH SIGNATURE') return sshReason(place, run.stderr, allowed);
  if (form === 'SIGNED MESSAGE') return 'is signed with X.509, which is not verified here';
  return gpgReason(run.stderr, allowed);
}

/** Reads the status lines of gpg. */
function gpgReason(stderr: string, allowed: readonly string[]): string {
  const words = (keyword: string): string[] | undefined =>
    new RegExp(String.raw`^\[GNUPG:\] ${keyword} (.*)$`, 'm').exec(stderr)?.[1]?.split(' ');
  const unknown = words('ERRSIG');
  // For a subkey the last word is its primary key.
  const primary = words('VALIDSIG')?.at(-1);
  const id = primary ?? unknown?.[6] ?? [...named(words)].at(0) ?? 'an unknown id';
  const known = allowed.find((key) => key.startsWith(`GPG ${id} `) || key.includes(`${id} (`));
  const key = known ?? `GPG ${oneLine(id)}`;
  if (words('REVKEYSIG') !== undefined) return `is signed by ${key}, which is revoked`;
  if (words('EXPKEYSIG') !== undefined) {
    const ended = Number(words('KEYEXPIRED')?.[0]) * 1000;
    const when = Number.isFinite(ended) ? ` on ${new Date(ended).toISOString().slice(0, 10)}` : '';
    return `is signed by ${key}, which expired${when}`;
  }
  if (words('EXPSIG') !== undefined) return `has a signature by ${key} that has expired`;
  if (words('BADSIG') !== undefined) {
    return `has a signature by ${key} that does not match this content`;
  }
  if (words('NO_PUBKEY') !== undefined) return `is signed by ${key}, which is not permitted`;
  if (unknown !== undefined) return `has a signature by ${key} that gpg cannot check`;
  return `has a signature that gpg does not accept: ${lastLine(stderr)}`;
}

function* named(words: (keyword: string) => string[] | undefined): Generator<string> {
  for (const keyword of ['BADSIG', 'REVKEYSIG', 'EXPKEYSIG', 'EXPSIG', 'NO_PUBKEY']) {
    const id = words(keyword)?.[0];
    if (id !== undefined) yield id;
  }
}

/** Reads the signature itself, which names its key and purpose, and the output of ssh-keygen. */
function sshReason(text: string, stderr: string, allowed: readonly string[]): string {
  const armour = /-----BEGIN SSH SIGNATURE-----([A-Za-z0-9+/=\s]*)-----END/.exec(text)?.[1] ?? '';
  const [publicKey, purpose] = fieldsOf(Buffer.from(armour, 'base64'));
  if (publicKey === undefined || purpose === undefined) return 'has a signature that is damaged';
  const fingerprint = sshFingerprint(publicKey);
  const known = allowed.find((key) => key.startsWith(`SSH ${fingerprint} `));
  const key = known ?? `SSH ${fingerprint}`;
  if (purpose.toString('latin1') !== 'git') {
    return `has a signature by ${key} that was made for "${oneLine(purpose.toString('utf8'))}", not for git`;
  }
  if (/incorrect signature/.test(stderr)) {
    return `has a signature by ${key} that does not match this content`;
  }
  if (known === undefined) return `is signed by ${key}, which is not permitted`;
  if (/key has expired/.test(stderr)) return `is signed by ${key}, which has expired`;
  if (/not yet valid/.test(stderr)) return `is signed by ${key}, which is not valid yet`;
  if (/not permitted for use in signature namespace/.test(stderr)) {
    return `is signed by ${key}, which is permitted for other purposes than git`;
  }
  return `is signed by ${key}, which is revoked or not accepted: ${lastLine(stderr)}`;
}

/** Returns the first two strings after the six magic bytes and the version of an SSH signature. */
function fieldsOf(blob: Buffer): Buffer[] {
  const fields: Buffer[] = [];
  let offset = 'SSHSIG'.length + 4;
  while (fields.length < 2 && offset + 4 <= blob.length) {
    const length = blob.readUInt32BE(offset);
    if (offset + 4 + length > blob.length) break;
    fields.push(blob.subarray(offset + 4, offset + 4 + length));
    offset += 4 + length;
  }
  return fields;
}

function lastLine(stderr: string): string {
  return oneLine(stderr.trim().split('\n').at(-1) ?? '').slice(0, 200);
}
