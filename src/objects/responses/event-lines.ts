/** Encodes stream events for storage: the data of each event on one line, deflated. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** Each line is JSON without a line feed. */
export function packEvents(lines: readonly string[]): Buffer {
  return deflateRawSync(lines.join('\n'), { level: 1 });
}

export function unpackEvents(bytes: Buffer): string[] {
  const text = inflateRawSync(bytes).toString('utf8');
  return text === '' ? [] : text.split('\n');
}

/** Formats an event as sent to callers. */
export function formatEvent(line: string): string {
  const { type } = JSON.parse(line) as { readonly type: string };
  return `event: ${type}\ndata: ${line}\n\n`;
}

export function eventNumber(line: string): number {
  return (JSON.parse(line) as { readonly sequence_number: number }).sequence_number;
}
