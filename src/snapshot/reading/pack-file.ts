/** Packs sealed objects into one file, which is never changed, and finds them in it. */
import { SnapshotRefused } from '../format/snapshot-refused.ts';
import type { HeldObject } from './live-snapshot.ts';

/** Organisation, etag in base64url, and length of an object. */
type PackedObject = readonly [organisationId: string, etag: string, bytes: number];

/** A list of the objects in JSON, then their bytes. Each object is verified by its etag when it is used. */
export function encodePack(objects: readonly HeldObject[]): Buffer {
  const list = objects.map(({ organisationId, etag, sealed }): PackedObject => {
    return [organisationId, etag, sealed.length];
  });
  const header = Buffer.from(JSON.stringify(list));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(header.length);
  return Buffer.concat([length, header, ...objects.map(({ sealed }) => sealed)]);
}

/** The objects share the memory of the file. @throws SnapshotRefused */
export function decodePack(bytes: Buffer, name: string): HeldObject[] {
  const list = readList(bytes, name);
  let at = 4 + bytes.readUInt32BE(0);
  const total = list.reduce((sum, [, , length]) => sum + length, at);
  if (total !== bytes.length) throw new SnapshotRefused('torn', `${name} is truncated`);
  return list.map(([organisationId, etag, length]) => {
    const sealed = bytes.subarray(at, at + length);
    at += length;
    return { organisationId, etag, sealed };
  });
}

function readList(bytes: Buffer, name: string): PackedObject[] {
  if (bytes.length < 4 || bytes.length < 4 + bytes.readUInt32BE(0)) {
    throw new SnapshotRefused('torn', `${name} is truncated`);
  }
  try {
    return JSON.parse(bytes.toString('utf8', 4, 4 + bytes.readUInt32BE(0))) as PackedObject[];
  } catch (cause) {
    throw new SnapshotRefused('altered', `${name} was altered`, { cause });
  }
}

/** The current head with the packs that have its objects. */
export interface PackIndex {
  readonly packs: readonly PackName[];
  readonly sealedHead: Buffer;
}

export interface PackName {
  readonly name: string;
  readonly bytes: number;
}

const namePattern = /^pack-[0-9]+-[0-9a-f]{8}$/;

export function encodeIndex({ packs, sealedHead }: PackIndex): Buffer {
  const header = Buffer.from(JSON.stringify(packs));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(header.length);
  return Buffer.concat([length, header, sealedHead]);
}

/** @throws SnapshotRefused */
export function decodeIndex(bytes: Buffer, name: string): PackIndex {
  const torn = () => new SnapshotRefused('torn', `${name} is truncated`);
  if (bytes.length < 4) throw torn();
  const end = 4 + bytes.readUInt32BE(0);
  if (bytes.length <= end) throw torn();
  try {
    const packs = JSON.parse(bytes.toString('utf8', 4, end)) as PackName[];
    if (packs.some((pack) => !namePattern.test(pack.name) || !(pack.bytes >= 0))) {
      throw new TypeError('a pack has an unknown name');
    }
    return { packs, sealedHead: bytes.subarray(end) };
  } catch (cause) {
    throw new SnapshotRefused('altered', `${name} was altered`, { cause });
  }
}
