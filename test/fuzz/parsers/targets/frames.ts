/** Fuzzes the reader of AWS event streams: the same frames as the reference however bytes are cut, or a declared error. */
import { crc32 } from 'node:zlib';
import { EventStreamCodec } from '@smithy/eventstream-codec';
import { fromUtf8, toUtf8 } from '@smithy/util-utf8';
import { type Frame, FrameFault } from '../../../../src/upstream/frames/frame.ts';
import { FrameReader } from '../../../../src/upstream/frames/frame-reader.ts';
import { writeFrame } from '../../../../src/upstream/frames/frame-writer.ts';
import { type ParserTarget, requireEqual } from '../parser-target.ts';

const codec = new EventStreamCodec(toUtf8, fromUtf8);

/** Frames are hardly ever valid by chance, so most inputs are given lengths and checksums. */
function framed(input: Buffer): Buffer {
  const [mode = 0, headerBytes = 0] = input;
  if (mode % 4 === 0) return input;
  const content = input.subarray(2);
  const frame = Buffer.alloc(content.length + 16);
  frame.writeUInt32BE(frame.length, 0);
  frame.writeUInt32BE(Math.min(headerBytes, content.length), 4);
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8);
  content.copy(frame, 12);
  frame.writeUInt32BE(crc32(frame.subarray(0, -4)), frame.length - 4);
  return mode % 4 === 1 ? Buffer.concat([frame, frame]) : frame;
}

function framesOf(pieces: readonly Buffer[]): readonly Frame[] | string {
  const reader = new FrameReader();
  try {
    const frames = pieces.flatMap((piece) => reader.push(piece));
    reader.end();
    return frames;
  } catch (error) {
    if (error instanceof FrameFault) return error.message;
    throw error;
  }
}

export const framesTarget: ParserTarget = {
  name: 'frames',
  sources: /\/src\/upstream\/frames\//,
  dictionary: [
    '\u0001\u000b:event-type\u0007\u0000\u0005chunk',
    '\r:content-type',
    '\u0007\u0000',
    ':message-type',
    '\u0000\u0000',
    '{"bytes":"e30="}',
  ],
  check: (input) => {
    const bytes = framed(input);
    const whole = framesOf([bytes]);
    const pieces = [bytes.subarray(0, 3), bytes.subarray(3, 13), bytes.subarray(13)];
    const cut = framesOf(pieces);
    if (typeof whole === 'string') {
      if (typeof cut !== 'string') throw new Error('frames in pieces are accepted');
      return;
    }
    requireEqual('the frames in pieces', cut, whole);
    for (const frame of whole) {
      const headers = Object.fromEntries(frame.headers);
      const written = writeFrame(headers, frame.payload);
      requireEqual('a frame written again', framesOf([written]), [frame]);
      const decoded = codec.decode(written);
      requireEqual(
        'the payload of the reference',
        Buffer.from(decoded.body),
        Buffer.from(frame.payload),
      );
    }
  },
};
