/** Verifies that streams of events are split in every form, at every chunk boundary. */
import { describe, expect, it } from 'vitest';
import {
  EventTooLarge,
  StreamEventReader,
  withEventData,
} from '../../../src/mcp/messages/event-stream.ts';

const streams: [string, string, (string | null)[]][] = [
  ['line feeds', 'data: a\n\ndata: b\ndata: c\n\n', ['a', 'b\nc']],
  ['carriage returns', 'data: a\r\rdata: b\r\r', ['a', 'b']],
  ['both', 'id: 1\r\ndata:a\r\n\r\n: note\r\n\r\ndata\r\n\r\n', ['a', null, '']],
  ['blank lines between', '\n\ndata: é✓\n\n\n\ndata: b\n\n', ['é✓', 'b']],
];

describe('an event reader', () => {
  it.each(streams)('splits events with %s at every boundary', (_, text, expected) => {
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size += 1) {
      const reader = new StreamEventReader(1000);
      const events = [];
      for (let at = 0; at < bytes.length; at += size) {
        events.push(...reader.push(bytes.subarray(at, at + size)));
      }
      expect(events.map(({ data }) => data)).toEqual(expected);
      const rest = reader.rest() ?? Buffer.alloc(0);
      expect(Buffer.concat([...events.map((event) => event.bytes), rest]).toString()).toBe(text);
    }
  });

  it('refuses an event beyond its bound, in any number of chunks', () => {
    const reader = new StreamEventReader(20);
    reader.push(Buffer.from('data: 0123456789'));
    expect(() => reader.push(Buffer.from('0123456789'))).toThrow(EventTooLarge);
  });

  it('replaces the data of an event only', () => {
    const [event] = new StreamEventReader(100).push(
      Buffer.from('event: message\nid: 7\ndata: a\n\n'),
    );
    expect(withEventData(event!, '{}').toString()).toBe('event: message\nid: 7\ndata: {}\n\n');
  });
});
