/** Knows how the last snapshot outlives a run, so that the next one need not be sent what it has seen. */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { packageVersion } from '../../package-root.ts';
import type { Secret } from '../../secret.ts';
import { type CodedBody, isCoding } from './coded-answer.ts';

export interface KeptSnapshot {
  readonly etag: string;
  readonly body: CodedBody;
  /** Whether this very version has read it before and found it to be, as it came, what it takes it for. */
  readonly isProven: boolean;
}

/** What is asked for of what a server holds. */
export interface SnapshotQuery {
  /** Everything, or what one owner has to see while nothing changes; of each the last one is kept. */
  readonly view: 'whole' | 'own';
  /** Path and query of the request. */
  readonly path: string;
}

/** Whose snapshot it is: another server, account or owner has another. */
export interface SnapshotOf extends SnapshotQuery {
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
/** What is shorter is sent again sooner than kept. */
const bodyBytesMin = 4 * 1024;
/** Whoever writes takes less; what is older was left by one that died. */
const abandonedMs = 60_000;

/**
 * One file in a folder. It is sealed under the account's own secret: whoever cannot ask the server
 * can neither read it nor put another in its place. What cannot be opened counts as not there, and
 * what cannot be written is not kept: nothing rests on it but the time of the next run.
 */
export class SnapshotCache {
  readonly #folder: string;
  readonly #path: string;
  readonly #identity: Buffer;
  readonly #secret: Secret;

  constructor(folder: string, of: SnapshotOf) {
    const { adminBaseUrl, clientId, clientSecret, owner, view, path } = of;
    const place = JSON.stringify(['snapshot 2', adminBaseUrl, clientId, owner, view]);
    this.#identity = Buffer.from(JSON.stringify([place, path]));
    this.#folder = folder;
    this.#path = join(folder, createHash('sha256').update(place).digest('hex'));
    this.#secret = clientSecret;
  }

  async read(): Promise<KeptSnapshot | null> {
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

  async keep({ etag, body: { coding, bytes }, isProven }: KeptSnapshot): Promise<void> {
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

  /** Whole or not at all: of several that write at once one does. */
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

/** Rejects for links and devices, and for what is longer than anything that is kept. */
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
