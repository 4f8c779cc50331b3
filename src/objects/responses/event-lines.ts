/** Knows how events of a stream are kept: the data of each on a line, deflated. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** `lines` hold JSON, which has no line feed. */
export function packedEvents(lines: readonly string[]): Buffer {
  return deflateRawSync(lines.join('\n'), { level: 1 });
}

export function unpackedEvents(bytes: Buffer): string[] {
  const text = inflateRawSync(bytes).toString('utf8');
  return text === '' ? [] : text.split('\n');
}

/** As they go to a caller. */
export function eventText(line: string): string {
  const { type } = JSON.parse(line) as { readonly type: string };
  return `event: ${type}\ndata: ${line}\n\n`;
}

export function numberOf(line: string): number {
  return (JSON.parse(line) as { readonly sequence_number: number }).sequence_number;
}
