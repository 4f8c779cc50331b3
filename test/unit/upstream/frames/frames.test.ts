/** Verifies the reading of AWS event streams, whose frames Amazon's own library encodes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameFault, frameBytesMax } from '../../../../src/upstream/frames/frame.ts';
import { FrameEvents } from '../../../../src/upstream/frames/frames-to-events.ts';
import {
  chunkFrame,
  eventFrame,
  exceptionFrame,
  frameOf,
} from '../../../support/upstream/bedrock.ts';

function eventsOf(...chunks: readonly Buffer[]): string {
  const frames = new FrameEvents();
  const text = chunks.map((chunk) => frames.pass(chunk).toString()).join('');
  frames.end();
  return text;
}

describe('an AWS event stream', () => {
  it('becomes server-sent events, however its bytes are divided', () => {
    const event = fc.record({ text: fc.string(), count: fc.integer() });
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 8 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 40 })),
        (events, sizes) => {
          const bytes = Buffer.concat(events.map((one) => eventFrame('delta', one)));
          const chunks: Buffer[] = [];
          for (let at = 0; at < bytes.length; ) {
            const size = sizes.next().value;
            chunks.push(bytes.subarray(at, at + size));
            at += size;
          }
          const expected = events.map(
            (one) => `event: delta\ndata: {"delta":${JSON.stringify(one)}}\n\n`,
          );
          expect(eventsOf(...chunks)).toBe(expected.join(''));
        },
      ),
    );
  });

  it('contains the events of a model in its chunks', () => {
    const event = { type: 'content_block_delta', delta: { text: 'é\n' } };
    expect(eventsOf(chunkFrame(event))).toBe(
      `event: content_block_delta\ndata: ${JSON.stringify(event)}\n\n`,
    );
  });

  it('has an error event for an exception', () => {
    const error = { type: 'throttlingException', message: 'too many' };
    expect(eventsOf(exceptionFrame('throttlingException', 'too many'))).toBe(
      `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`,
    );
    const headers = {
      ':message-type': 'error',
      ':error-code': 'internal',
      ':error-message': 'lost',
    };
    expect(eventsOf(frameOf(headers, ''))).toContain('"message":"lost"');
  });

  const whole = eventFrame('delta', { text: 'hello' });
  const changed = (at: number, change: (bytes: Buffer) => void) => {
    const bytes = Buffer.from(whole);
    change(bytes.subarray(at));
    return bytes;
  };
  it.each([
    ['a changed length', changed(0, (bytes) => bytes.writeUInt32BE(50))],
    ['a changed payload', changed(whole.length - 8, (bytes) => bytes.writeUInt8(1))],
    ['a changed checksum', changed(whole.length - 4, (bytes) => bytes.writeUInt32BE(1))],
    ['an end within a frame', whole.subarray(0, 20)],
    ['a payload that is not JSON', frameOf({ ':event-type': 'delta' }, 'no')],
    ['a payload that is a list', frameOf({ ':event-type': 'delta' }, '[]')],
    ['a chunk without bytes', eventFrame('chunk', {})],
    [
      'too many headers',
      frameOf(Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`h${at}`, 'v'])), '{}'),
    ],
  ])('is refused with %s', (_, bytes) => {
    expect(() => eventsOf(bytes)).toThrow(FrameFault);
  });

  it('is refused with a frame above the bound, before its bytes are awaited', async () => {
    const { crc32 } = await import('node:zlib');
    const prelude = Buffer.alloc(12);
    prelude.writeUInt32BE(frameBytesMax + 1, 0);
    prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
    expect(() => new FrameEvents().pass(prelude)).toThrow(FrameFault);
  });
});
