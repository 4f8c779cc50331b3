/** Cuts the document of a manifest out of its file, and puts a changed one in its place. */
import { Parser } from 'yaml';

/** A document without the `---` line above it. Offsets count in the text of the file. */
export interface ManifestSlice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const separator = /^---[ \t]*(?:#[^\n]*)?\r?\n/;

/** Returns the document that contains a line, counted from 1; null when there is none. */
export function sliceAt(text: string, line: number): ManifestSlice | null {
  const offset = offsetOf(text, line);
  const starts: number[] = [];
  for (const token of new Parser().parse(text)) {
    if (token.type === 'document') starts.push(token.offset);
  }
  const at = starts.findLastIndex((start) => start <= offset);
  if (at < 0) return null;
  const end = starts[at + 1] ?? text.length;
  const whole = text.slice(starts[at], end);
  const head = separator.exec(whole)?.[0].length ?? 0;
  return { start: starts[at]! + head, end, text: whole.slice(head) };
}

/** Keeps the line endings of the file, and ends the document with a line break. */
export function withSlice(text: string, { start, end }: ManifestSlice, changed: string): string {
  const lines = changed.replaceAll(/\r\n?/g, '\n');
  const ended = lines === '' || lines.endsWith('\n') ? lines : `${lines}\n`;
  const own = text.includes('\r\n') ? ended.replaceAll('\n', '\r\n') : ended;
  return text.slice(0, start) + own + text.slice(end);
}

function offsetOf(text: string, line: number): number {
  let offset = 0;
  for (let at = 1; at < line; at += 1) {
    const next = text.indexOf('\n', offset);
    if (next < 0) return text.length;
    offset = next + 1;
  }
  return offset;
}
