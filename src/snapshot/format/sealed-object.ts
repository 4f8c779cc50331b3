/** Compresses, encrypts and authenticates the objects of a snapshot (docs/reference/snapshot.md, Format). */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { SnapshotRefused } from './snapshot-refused.ts';

/** Kinds of objects by their number in the header. */
const kinds = { rows: 1, manifest: 2, page: 3, head: 4 } as const;
export type SealedKind = keyof typeof kinds;

/** Readers refuse objects of a higher version. */
export const formatVersion = 1;

const magic = Buffer.from('GWSN');
const headerBytes = magic.length + 2;
const saltBytes = 12;
const nonceBytes = 12;
const tagBytes = 16;
const plainBytesMax = 512 * 1024 * 1024;
const compression = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

/** SHA-256 of sealed bytes, by which the object that names them finds and verifies them. */
export function etagOf(sealed: Buffer): Buffer {
  return createHash('sha256').update(sealed).digest();
}

/**
 * AES-256-GCM under a key that is derived for this object. `place` and `open`, a part that stays readable
 * without the key, are authenticated.
 */
export function sealObject(
  key: KeyObject,
  { kind, place, open = Buffer.alloc(0) }: ObjectPlace & { readonly open?: Buffer },
  plain: Buffer,
): Buffer {
  const salted = randomBytes(saltBytes + nonceBytes);
  const header = Buffer.concat([
    magic,
    Buffer.from([formatVersion, kinds[kind]]),
    lengthOf(open),
    open,
  ]);
  const cipher = createCipheriv('aes-256-gcm', objectKey(key, salted), salted.subarray(saltBytes));
  cipher.setAAD(Buffer.concat([header, Buffer.from(place)]));
  return Buffer.concat([
    header,
    salted,
    cipher.update(zstdCompressSync(plain, compression)),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
}

export interface ObjectPlace {
  readonly kind: SealedKind;
  /** Organisation, table, number, generation and time: no other place opens the object. */
  readonly place: string;
}

/** @throws SnapshotRefused; `name` describes the object in the error */
export function openObject(
  key: KeyObject,
  { kind, place }: ObjectPlace,
  sealed: Buffer,
  name: string,
): Buffer {
  const { header, body } = splitHeader(sealed, kind, name);
  if (body.length < saltBytes + nonceBytes + tagBytes) throw torn(name);
  const salted = body.subarray(0, saltBytes + nonceBytes);
  const decipher = createDecipheriv(
    'aes-256-gcm',
    objectKey(key, salted),
    salted.subarray(saltBytes),
    { authTagLength: tagBytes },
  );
  decipher.setAAD(Buffer.concat([header, Buffer.from(place)]));
  decipher.setAuthTag(body.subarray(-tagBytes));
  try {
    const opened = [decipher.update(body.subarray(salted.length, -tagBytes)), decipher.final()];
    return zstdDecompressSync(Buffer.concat(opened), { maxOutputLength: plainBytesMax });
  } catch (cause) {
    throw new SnapshotRefused('altered', `${name} was altered, or belongs to another place`, {
      cause,
    });
  }
}

/** The part that is readable without the key; unauthenticated. @throws SnapshotRefused */
export function readOpenPart(sealed: Buffer, kind: SealedKind, name: string): Buffer {
  return splitHeader(sealed, kind, name).open;
}

function splitHeader(sealed: Buffer, kind: SealedKind, name: string) {
  if (sealed.length < headerBytes + 4) throw torn(name);
  const isOurs = sealed.subarray(0, magic.length).equals(magic);
  if (!isOurs) throw new SnapshotRefused('altered', `${name} is no part of a snapshot`);
  const version = sealed[magic.length]!;
  if (version > formatVersion) {
    throw new SnapshotRefused(
      'newer',
      `${name} has format ${version}, and this version reads up to ${formatVersion}; update this gateway`,
    );
  }
  if (version !== formatVersion || sealed[magic.length + 1] !== kinds[kind]) {
    throw new SnapshotRefused('altered', `${name} has an unknown header`);
  }
  const end = headerBytes + 4 + sealed.readUInt32BE(headerBytes);
  if (end > sealed.length) throw torn(name);
  return {
    header: sealed.subarray(0, end),
    open: sealed.subarray(headerBytes + 4, end),
    body: sealed.subarray(end),
  };
}

function torn(name: string): SnapshotRefused {
  return new SnapshotRefused('torn', `${name} is truncated`);
}

function lengthOf(open: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(open.length);
  return length;
}

function objectKey(key: KeyObject, salted: Buffer): Buffer {
  const salt = salted.subarray(0, saltBytes);
  return Buffer.from(hkdfSync('sha256', key, salt, 'gatewright/snapshot-object/v1', 32));
}
