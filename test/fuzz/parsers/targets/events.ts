/** Fuzzes the readers of server-sent events: both agree with the algorithm of the HTML standard, however bytes are cut. */
import { StreamEventReader } from '../../../../src/mcp/messages/event-stream.ts';
import { EventReader } from '../../../../src/upstream/documents/event-reader.ts';
import { type ParserTarget, requireEqual } from '../parser-target.ts';

/** The data of complete events, by the HTML standard, section 9.2.6. */
function standardEvents(input: Buffer): string[] {
  const text = input.toString('utf8').replace(/^\ufeff/, '');
  const lines = text.split(/\r\n|\n|\r/);
  lines.pop();
  const events: string[] = [];
  let data: string[] = [];
  for (const line of lines) {
    if (line === '') {
      if (data.length > 0) events.push(data.join('\n'));
      data = [];
      continue;
    }
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') data.push(value);
  }
  return events;
}

/** Pieces of lengths that the first byte selects. */
function piecesOf(input: Buffer): Buffer[] {
  const size = 1 + ((input[0] ?? 0) % 7);
  const pieces: Buffer[] = [];
  const step = input.length > 10_000 ? 4_096 : size;
  for (let at = 0; at < input.length; at += step) pieces.push(input.subarray(at, at + step));
  return pieces;
}

function translated(pieces: readonly Buffer[]): string[] {
  const reader = new EventReader();
  const events: string[] = [];
  for (const piece of pieces) reader.push(piece, (data) => events.push(data));
  return events;
}

function relayed(pieces: readonly Buffer[]): string[] {
  const reader = new StreamEventReader(1024 * 1024);
  return pieces.flatMap((piece) =>
    reader.push(piece).flatMap(({ data }) => (data === null ? [] : [data])),
  );
}

export const eventsTarget: ParserTarget = {
  name: 'events',
  sources: /\/src\/(?:mcp\/messages\/event-stream|upstream\/documents\/event-reader)/,
  dictionary: [
    'data: ',
    'data:',
    'data',
    'event: a\n',
    'id: 1\n',
    ': ',
    '\n\n',
    '\r\n\r\n',
    '\r\r',
    '\ufeff',
    '\u00e9',
    '{}',
    '[DONE]',
    'retry: 1\n',
  ],
  check: (input) => {
    const expected = standardEvents(input);
    requireEqual('events in one piece', translated([input]), expected);
    requireEqual('events in pieces', translated(piecesOf(input)), expected);
    requireEqual('relayed events in one piece', relayed([input]), expected);
    requireEqual('relayed events in pieces', relayed(piecesOf(input)), expected);
  },
};
