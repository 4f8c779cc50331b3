/** Encodes and decodes segments: a header, then sealed blocks of records. It finds torn and damaged blocks. */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Key of all segments of a deployment. */
export interface SpoolKey {
  /** Part of each segment's header; reveals nothing of the key. */
  readonly id: Buffer;
  readonly key: KeyObject;
}

export interface SegmentHeader {
  readonly number: number;
  /** Last segment whose records a summary replaces; equal to `number` for an ordinary segment. */
  readonly through: number;
  /** Whether its records are a summary of dropped ones. */
  readonly isSummary: boolean;
  /** Milliseconds since the epoch, by the clock of the machine. */
  readonly createdAtMs: number;
}

/** A header with what opens the blocks that follow it. */
export interface SegmentSeal {
  readonly header: SegmentHeader;
  /** The encoded header, authenticated with each block. */
  readonly bytes: Buffer;
  readonly key: KeyObject;
}

/** The header of a segment cannot be used; `isForeign` means that it was sealed under another key. */
export class UnusableSegment extends Error {
  override name = 'UnusableSegment';
  readonly isForeign: boolean;

  constructor(message: string, isForeign: boolean) {
    super(message);
    this.isForeign = isForeign;
  }
}

const keyIdBytes = 8;
const saltBytes = 16;
export const headerBytes = 64;
const crcAt = headerBytes - 4;
const segmentMagic = Buffer.from('GWSP');
const formatVersion = 1;
const summaryFlag = 1;

const blockMagic = Buffer.from('GWBL');
const blockHeaderBytes = 16;
const tagBytes = 16;
const nonceBytes = 12;
const lengthBytes = 4;

/** Bytes that a record adds to a block. */
export const recordOverheadBytes = lengthBytes;
/** Bytes that a block adds to its records. */
const blockOverheadBytes = blockHeaderBytes + tagBytes;

/** `secret` has 32 bytes or more. */
export function spoolKey(secret: Buffer): SpoolKey {
  return {
    id: derive(secret, '', 'id').subarray(0, keyIdBytes),
    key: createSecretKey(derive(secret, '', 'key')),
  };
}

function derive(from: Buffer | KeyObject, salt: Buffer | '', purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', from, salt, `gatewright/spool-${purpose}/v1`, 32));
}

/** Each segment has a key of its own, so that the numbers of its blocks can serve as nonces. */
export function newSegmentSeal(header: SegmentHeader, { id, key }: SpoolKey): SegmentSeal {
  const bytes = Buffer.alloc(headerBytes);
  const salt = randomBytes(saltBytes);
  segmentMagic.copy(bytes, 0);
  bytes.writeUInt8(formatVersion, 4);
  bytes.writeUInt8(header.isSummary ? summaryFlag : 0, 5);
  bytes.writeUInt32LE(header.number, 8);
  bytes.writeUInt32LE(header.through, 12);
  bytes.writeDoubleLE(header.createdAtMs, 16);
  id.copy(bytes, 24);
  salt.copy(bytes, 32);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, crcAt)), crcAt);
  return { header, bytes, key: segmentKey(key, salt) };
}

function segmentKey(key: KeyObject, salt: Buffer): KeyObject {
  return createSecretKey(derive(key, salt, 'segment'));
}

/** Reads a header without its key. @throws UnusableSegment */
export function parseHeader(file: Buffer): SegmentHeader {
  const bytes = file.subarray(0, headerBytes);
  const isWhole =
    bytes.length === headerBytes &&
    bytes.subarray(0, 4).equals(segmentMagic) &&
    bytes.readUInt32LE(crcAt) === crc32(bytes.subarray(0, crcAt));
  if (!isWhole) throw new UnusableSegment('its header is damaged', false);
  const version = bytes.readUInt8(4);
  if (version !== formatVersion) {
    throw new UnusableSegment(`it has format ${version}, this build reads ${formatVersion}`, true);
  }
  return {
    number: bytes.readUInt32LE(8),
    through: bytes.readUInt32LE(12),
    isSummary: (bytes.readUInt8(5) & summaryFlag) !== 0,
    createdAtMs: bytes.readDoubleLE(16),
  };
}

/** @throws UnusableSegment */
function openSeal(file: Buffer, { id, key }: SpoolKey): SegmentSeal {
  const header = parseHeader(file);
  if (!file.subarray(24, 24 + keyIdBytes).equals(id)) {
    throw new UnusableSegment('it was written by another deployment', true);
  }
  const salt = file.subarray(32, 32 + saltBytes);
  return { header, bytes: file.subarray(0, headerBytes), key: segmentKey(key, salt) };
}

/**
 * Returns the parts of a block, which follow each other; joining them would copy all records once more.
 * `counter` must differ in each block of a segment.
 */
export function sealBlock(
  seal: SegmentSeal,
  counter: number,
  records: readonly Buffer[],
): readonly Buffer[] {
  let bodyBytes = 0;
  for (const record of records) bodyBytes += lengthBytes + record.length;
  const body = Buffer.allocUnsafe(bodyBytes);
  let at = 0;
  for (const record of records) {
    at = body.writeUInt32LE(record.length, at);
    at += record.copy(body, at);
  }
  const head = Buffer.allocUnsafe(blockHeaderBytes);
  blockMagic.copy(head, 0);
  head.writeUInt32LE(bodyBytes, 4);
  head.writeUInt32LE(counter, 8);
  head.writeUInt32LE(crc32(head.subarray(0, 12)), 12);
  const cipher = createCipheriv('aes-256-gcm', seal.key, nonceOf(counter));
  cipher.setAAD(Buffer.concat([seal.bytes, head]));
  return [head, cipher.update(body), cipher.final(), cipher.getAuthTag()];
}

function nonceOf(counter: number): Buffer {
  const nonce = Buffer.alloc(nonceBytes);
  nonce.writeUInt32LE(counter, 0);
  return nonce;
}

export interface SegmentContents {
  readonly header: SegmentHeader;
  readonly records: readonly Buffer[];
  /** Bytes behind the last block that was written whole; usual after a process was killed. */
  readonly tornBytes: number;
  /** Bytes between whole blocks that do not open, because something changed them. */
  readonly damagedBytes: number;
}

/** Reads all records that are whole. @throws UnusableSegment */
export function readSegment(file: Buffer, key: SpoolKey): SegmentContents {
  const seal = openSeal(file, key);
  const records: Buffer[] = [];
  let unreadFrom = headerBytes;
  let damagedBytes = 0;
  for (let at = headerBytes; at < file.length; ) {
    const end = endOfBlock(file, at);
    const body = end === null ? null : openBlock(seal, file.subarray(at, end));
    if (body === null) {
      // A header that is whole but whose block does not open says where the next block is.
      at = end ?? nextBlock(file, at + 1);
      continue;
    }
    damagedBytes += at - unreadFrom;
    at = end!;
    unreadFrom = at;
    splitRecords(body, records);
  }
  return { header: seal.header, records, damagedBytes, tornBytes: file.length - unreadFrom };
}

/** Null when no whole block starts there. */
function endOfBlock(file: Buffer, at: number): number | null {
  if (file.length - at < blockOverheadBytes) return null;
  const head = file.subarray(at, at + blockHeaderBytes);
  if (!head.subarray(0, 4).equals(blockMagic)) return null;
  if (head.readUInt32LE(12) !== crc32(head.subarray(0, 12))) return null;
  const end = at + blockOverheadBytes + head.readUInt32LE(4);
  return end > file.length ? null : end;
}

function nextBlock(file: Buffer, from: number): number {
  for (let at = from; ; at += 1) {
    at = file.indexOf(blockMagic, at);
    if (at < 0) return file.length;
    if (endOfBlock(file, at) !== null) return at;
  }
}

/** Null when the block was changed. */
function openBlock(seal: SegmentSeal, block: Buffer): Buffer | null {
  const head = block.subarray(0, blockHeaderBytes);
  const decipher = createDecipheriv('aes-256-gcm', seal.key, nonceOf(head.readUInt32LE(8)), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(Buffer.concat([seal.bytes, head])).setAuthTag(block.subarray(-tagBytes));
  try {
    const sealed = block.subarray(blockHeaderBytes, -tagBytes);
    return Buffer.concat([decipher.update(sealed), decipher.final()]);
  } catch {
    return null;
  }
}

function splitRecords(body: Buffer, into: Buffer[]): void {
  for (let at = 0; at < body.length; ) {
    const from = at + lengthBytes;
    at = from + body.readUInt32LE(at);
    into.push(body.subarray(from, at));
  }
}
