/**
 * Checks that a stream that is scanned for usage keeps its bytes, however the provider splits it.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsageStream } from '../../../src/gateway/metering/usage-stream.ts';

const usage = '{"prompt_tokens":11,"completion_tokens":4}';
const aside = `data: {"choices":[],"usage":${usage}}`;

/** Lines of every kind except the removed event. */
const plainLine = fc.oneof(
  fc.constantFrom(
    '',
    ': ping',
    'event: x',
    'id: 1',
    'data: [DONE]',
    'data: {"usage":null,"choices":[]}',
    'data: {"usage"',
    'usage',
    '"usage"',
    'data:',
    'data: "\u{1d11e}é"',
    `data: {"choices":[{"delta":{}}],"usage":${usage}}`,
    `data: {"choices":[{"delta":{"content":"${'x'.repeat(300)}"}}]}`,
  ),
  fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replace(/[\r\n]/g, '')),
);
const ending = fc.constantFrom('\n', '\r\n');
const line = fc.record({ text: plainLine, end: ending });

/** Splits the bytes at the given positions. */
function cutInto(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted(
    (a, b) => a - b,
  );
  return [0, ...places].map((from, at) => bytes.subarray(from, places[at]));
}

function passed(stream: UsageStream, pieces: readonly Buffer[]): string {
  const out = pieces.map((piece) => stream.pass(piece));
  return Buffer.concat([...out, stream.rest()]).toString('latin1');
}

const cuts = fc.array(fc.nat(), { maxLength: 30 });
const bytesOf = (text: string): Buffer => Buffer.from(text, 'utf8');

describe('a stream', () => {
  it('passes an observed stream byte for byte, wherever it is cut', () => {
    fc.assert(
      fc.property(fc.array(line), fc.string(), cuts, (lines, rest, places) => {
        const bytes = bytesOf(lines.map(({ text, end }) => text + end).join('') + rest);
        const stream = new UsageStream(false, 'chat_completions');
        expect(passed(stream, cutInto(bytes, places))).toBe(bytes.toString('latin1'));
      }),
    );
  });

  it('removes only the usage event that the gateway requested, wherever it is cut', () => {
    fc.assert(
      fc.property(
        fc.array(line),
        fc.array(line),
        ending,
        fc.string(),
        cuts,
        (before, after, end, rest, places) => {
          const text = (lines: typeof before) => lines.map((one) => one.text + one.end).join('');
          const [first, last] = [text(before), text(after) + rest];
          const stream = new UsageStream(true, 'chat_completions');
          const pieces = cutInto(bytesOf(first + aside + end + end + last), places);
          expect(passed(stream, pieces)).toBe(bytesOf(first + last).toString('latin1'));
          expect(stream.reported).toMatchObject({ inputTokens: 11, outputTokens: 4 });
        },
      ),
    );
  });

  it.each([true, false])('reports usage from a final event without an end', (takesOut) => {
    const text = `data: {"choices":[]}\n\n${aside}`;
    const stream = new UsageStream(takesOut, 'chat_completions');
    expect(passed(stream, [bytesOf(text)])).toBe(takesOut ? 'data: {"choices":[]}\n\n' : text);
    expect(stream.reported).toMatchObject({ inputTokens: 11, outputTokens: 4 });
  });

  it('passes one line of ten megabytes without buffering more than a part of it', () => {
    const piece = Buffer.alloc(64 * 1024, 'x');
    const stream = new UsageStream(true, 'chat_completions');
    const heldBack = Array.from({ length: 160 }, () => piece.length - stream.pass(piece).length);
    const sums = heldBack.map((_, at) => heldBack.slice(0, at + 1).reduce((sum, one) => sum + one));
    expect(Math.max(...sums)).toBeLessThan(512 * 1024);
    expect(stream.pass(Buffer.from('\n')).length).toBe(sums.at(-1)! + 1);
  });

  it('passes the end of a line that was too long, even when it looks like an event', () => {
    const stream = new UsageStream(true, 'chat_completions');
    const long = Buffer.alloc(300 * 1024, 'x');
    const out = passed(stream, [long, bytesOf(`${aside}\n\n`)]);
    expect(out).toBe(`${long}${aside}\n\n`);
    expect(stream.reported.inputTokens).toBeNull();
  });
});
