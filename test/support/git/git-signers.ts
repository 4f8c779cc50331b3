/** Signs commits and tags with git and temporary GPG and SSH keys. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GitServer } from './git-server.ts';

type Repository = ReturnType<GitServer['repository']>;

/** The git settings of a signer. */
export interface Signer {
  readonly settings: readonly string[];
  readonly fingerprint: string;
}

export interface SshSigner extends Signer {
  /** `ssh-ed25519 AAAA…` */
  readonly publicKey: string;
  readonly keyFile: string;
}

export class SigningRoom implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'gw-sign-'));
  readonly #gpgHome = join(this.folder, 'gpg');
  #made = 0;
  #hasAgent = false;

  constructor() {
    mkdirSync(this.#gpgHome, { mode: 0o700 });
  }

  /** Writes a file; returns its path. */
  file(text: string): string {
    this.#made += 1;
    const path = join(this.folder, `file-${this.#made}`);
    writeFileSync(path, text);
    return path;
  }

  ssh(): SshSigner {
    this.#made += 1;
    const keyFile = join(this.folder, `ssh-${this.#made}`);
    this.run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', keyFile]);
    const publicKey = readFileSync(`${keyFile}.pub`, 'utf8').split(' ').slice(0, 2).join(' ');
    const fingerprint = this.run('ssh-keygen', ['-lf', keyFile]).split(' ')[1] ?? '';
    const settings = ['gpg.format=ssh', `user.signingkey=${keyFile}`];
    return { settings, fingerprint, publicKey, keyFile };
  }

  /**
   * @param at the time of the key and its signatures (gpg's faked time); the key is valid for one
   * day
   */
  gpg(user: string, at?: string): Signer {
    this.#made += 1;
    this.#hasAgent = true;
    const program = join(this.folder, `gpg-${this.#made}.sh`);
    const time = at === undefined ? '' : `--faked-system-time ${at}`;
    const script = `#!/bin/sh\nexec gpg --homedir '${this.#gpgHome}' ${time} "$@"\n`;
    writeFileSync(program, script, { mode: 0o700 });
    const address = `${user}@example.com`;
    const generate = ['--quick-generate-key', `${user} <${address}>`, 'ed25519', 'sign', '1d'];
    this.run(program, ['--batch', '--quiet', '--passphrase', '', ...generate]);
    const listing = this.run(program, ['--batch', '--with-colons', '--list-keys', address]);
    const fingerprint = /^fpr:+([0-9A-F]+):/m.exec(listing)?.[1] ?? '';
    const settings = ['gpg.format=openpgp', `gpg.program=${program}`];
    return { settings: [...settings, `user.signingkey=${fingerprint}`], fingerprint };
  }

  exportGpg(signer: Signer): string {
    return this.run('gpg', ['--homedir', this.#gpgHome, '--armor', '--export', signer.fingerprint]);
  }

  /** Revokes a key in the home that exports it. */
  revokeGpg({ fingerprint }: Signer): void {
    const file = join(this.#gpgHome, 'openpgp-revocs.d', `${fingerprint}.rev`);
    const certificate = readFileSync(file, 'utf8').replace(':-----BEGIN', '-----BEGIN');
    this.run('gpg', ['--homedir', this.#gpgHome, '--batch', '--import'], certificate);
  }

  run(program: string, words: readonly string[], input = ''): string {
    const stdio = ['pipe', 'pipe', 'pipe'] as const;
    return execFileSync(program, words, { input, stdio: [...stdio] }).toString();
  }

  [Symbol.dispose](): void {
    if (this.#hasAgent) this.run('gpgconf', ['--homedir', this.#gpgHome, '--kill', 'all']);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Signs the contents of a branch as a new commit on top of it; returns the commit id. */
export function signCommit(repository: Repository, branch: string, signer: Signer): string {
  const tip = `refs/heads/${branch}`;
  const words = ['commit-tree', '-S', `${tip}^{tree}`, '-p', tip, '-m', 'signed'];
  const id = repository.git([...asSettings(signer), ...words]);
  repository.git(['update-ref', `refs/heads/${branch}`, id]);
  return id;
}

export function signTag(
  repository: Repository,
  name: string,
  commit: string,
  signer: Signer,
): void {
  repository.git([...asSettings(signer), 'tag', '-s', name, '-m', 'signed', commit]);
}

function asSettings({ settings }: Signer): string[] {
  return settings.flatMap((setting) => ['-c', setting]);
}
