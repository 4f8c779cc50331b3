/**
 * Caches the last snapshot in an encrypted file, so that the next run need not transfer it again.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { packageVersion } from '../../package-root.ts';
import type { Secret } from '../../secret.ts';
import { type CodedBody, isCoding } from './coded-body.ts';

export interface CachedSnapshot {
  readonly etag: string;
  readonly body: CodedBody;
  /** Whether this version has validated the snapshot and found every field present. */
  readonly isProven: boolean;
}

/** A snapshot request. */
export interface SnapshotQuery {
  /**
   * The whole state, or what one owner needs while nothing changes; the last one of each is cached.
   */
  readonly view: 'whole' | 'own';
  /** Path and query of the request. */
  readonly path: string;
}

/** The key of a cached snapshot; another server, account or owner has another. */
export interface SnapshotCacheKey extends SnapshotQuery {
  readonly adminBaseUrl: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly owner: string;
}

const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;
const keyBytes = 32;
const fileBytesMax = 64 * 1024 * 1024;
/** Shorter bodies are transferred faster than cached. */
const bodyBytesMin = 4 * 1024;
/** A write takes less time; an older temporary file was left by a process that died. */
const abandonedMs = 60_000;

/**
 * One file in a folder, encrypted under the account's secret, so that nobody without server access
 * can read or replace it. A file that cannot be opened counts as absent, and a failed write is
 * ignored: only the speed of the next run depends on it.
 */
export class LiveSnapshotCache {
  readonly #folder: string;
  readonly #path: string;
  readonly #identity: Buffer;
  readonly #secret: Secret;

  constructor(folder: string, of: SnapshotCacheKey) {
    const { adminBaseUrl, clientId, clientSecret, owner, view, path } = of;
    const place = JSON.stringify(['snapshot 2', adminBaseUrl, clientId, owner, view]);
    this.#identity = Buffer.from(JSON.stringify([place, path]));
    this.#folder = folder;
    this.#path = join(folder, createHash('sha256').update(place).digest('hex'));
    this.#secret = clientSecret;
  }

  async read(): Promise<CachedSnapshot | null> {
    try {
      const sealed = await readRegularFile(this.#path);
      const tag = sealed.subarray(ivBytes, ivBytes + tagBytes);
      const opening = createDecipheriv(cipher, this.#key(), sealed.subarray(0, ivBytes));
      opening.setAAD(this.#identity).setAuthTag(tag);
      const plain = Buffer.concat([
        opening.update(sealed.subarray(ivBytes + tagBytes)),
        opening.final(),
      ]);
      const end = plain.indexOf('\n');
      const [etag = '', coding = '', provenBy] = plain.toString('utf8', 0, end).split(' ');
      if (!isCoding(coding)) return null;
      const body = { coding, bytes: plain.subarray(end + 1) };
      return { etag, body, isProven: provenBy === packageVersion() };
    } catch {
      return null;
    }
  }

  async keep({ etag, body: { coding, bytes }, isProven }: CachedSnapshot): Promise<void> {
    if (bytes.length < bodyBytesMin || bytes.length > fileBytesMax / 2) return;
    const iv = randomBytes(ivBytes);
    const sealing = createCipheriv(cipher, this.#key(), iv).setAAD(this.#identity);
    const head = `${etag} ${coding} ${isProven ? packageVersion() : '-'}\n`;
    const text = [sealing.update(head), sealing.update(bytes), sealing.final()];
    await this.#replace([iv, sealing.getAuthTag(), ...text]).catch(() => undefined);
  }

  #key(): Buffer {
    const info = 'gatewright snapshot cache';
    return Buffer.from(hkdfSync('sha256', this.#secret.reveal(), '', info, keyBytes));
  }

  /** Replaces the file atomically; of concurrent writers one wins. */
  async #replace(parts: readonly Buffer[]): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const unfinished = `${this.#path}.new`;
    const left = await stat(unfinished).catch(() => null);
    if (left !== null && Date.now() - left.mtimeMs > abandonedMs) await rm(unfinished);
    const file = await open(unfinished, 'wx', 0o600);
    try {
      await file.writev([...parts]);
    } finally {
      await file.close();
    }
    await rename(unfinished, this.#path);
  }
}

/** Rejects links and devices, and files longer than a cached snapshot can be. */
async function readRegularFile(path: string): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const about = await file.stat();
    if (!about.isFile() || about.size > fileBytesMax) throw new RangeError('not a kept snapshot');
    return await file.readFile();
  } finally {
    await file.close();
  }
}
