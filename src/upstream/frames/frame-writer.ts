/** Writes frames of an AWS event stream. */
import { crc32 } from 'node:zlib';
import { checksumBytes, preludeBytes, textHeader } from './frame.ts';

/** Encodes one frame; all headers are texts. */
export function writeFrame(
  headers: Readonly<Record<string, string>>,
  payload: Buffer | string,
): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)));
  const body = typeof payload === 'string' ? Buffer.from(payload) : payload;
  const length = preludeBytes + head.length + body.length + checksumBytes;
  const frame = Buffer.allocUnsafe(length);
  frame.writeUInt32BE(length, 0);
  frame.writeUInt32BE(head.length, 4);
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8);
  head.copy(frame, preludeBytes);
  body.copy(frame, preludeBytes + head.length);
  frame.writeUInt32BE(crc32(frame.subarray(0, length - checksumBytes)), length - checksumBytes);
  return frame;
}

function header(name: string, value: string): Buffer {
  const [nameBytes, valueBytes] = [Buffer.from(name, 'latin1'), Buffer.from(value)];
  const bytes = Buffer.allocUnsafe(1 + nameBytes.length + 3 + valueBytes.length);
  let at = bytes.writeUInt8(nameBytes.length, 0);
  at += nameBytes.copy(bytes, at);
  at = bytes.writeUInt8(textHeader, at);
  at = bytes.writeUInt16BE(valueBytes.length, at);
  valueBytes.copy(bytes, at);
  return bytes;
}
