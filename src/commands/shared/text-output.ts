/** Knows how what a command says reaches a stream: the one place where all of it becomes harmless to terminals. */
import type { Writable } from 'node:stream';
import { forTerminal, printable } from '../../terminal-text.ts';

/** What it writes to; a terminal says so. */
export type TextStream = Writable & { readonly isTTY?: boolean };

/** Parts are written together from this length on. */
const gatheredLength = 64 * 1024;

/** Standard output or standard error of a command; also takes the lines of a log. */
export class TextOutput {
  /** Opening one takes time, so that it is done by whoever says something. */
  readonly #open: () => TextStream;
  /** Colour is for people at a terminal who have not said no to it. */
  readonly #mayColor: () => boolean;
  /** Of the line that stands now. */
  #statusLength = 0;

  constructor(open: () => TextStream, mayColor: () => boolean) {
    this.#open = open;
    this.#mayColor = mayColor;
  }

  get isTerminal(): boolean {
    return this.#open().isTTY === true;
  }

  /**
   * A line at a terminal that stands until something else is said, or `''` for none; nothing anywhere
   * else. It is overwritten with blanks, which every terminal can do.
   */
  writeStatus(line: string): void {
    const stream = this.#open();
    if (stream.isTTY !== true || (line === '' && this.#statusLength === 0)) return;
    const shown = forTerminal(line, { color: false });
    stream.write(`\r${shown.padEnd(this.#statusLength)}${line === '' ? '\r' : ''}`);
    this.#statusLength = shown.length;
  }

  /** Text for people, of which nothing but our own colours is obeyed. */
  write(text: string, done?: (error: Error | null | undefined) => void): boolean {
    this.writeStatus('');
    const stream = this.#open();
    const color = stream.isTTY === true && this.#mayColor();
    return stream.write(forTerminal(text, { color }), done);
  }

  /** As {@link write}, of a text that comes in parts: the whole is never held. */
  writeParts(parts: Iterable<string>): void {
    let gathered = '';
    for (const part of parts) {
      gathered += part;
      if (gathered.length < gatheredLength) continue;
      this.write(gathered);
      gathered = '';
    }
    if (gathered !== '') this.write(gathered);
  }

  /** One JSON document, exact to the programs that read it. */
  writeJson(document: unknown): void {
    this.#open().write(`${printable(JSON.stringify(document, null, 2))}\n`);
  }

  /** One of many JSON documents, on a line of its own. */
  writeJsonLine(document: unknown): void {
    this.#open().write(`${printable(JSON.stringify(document))}\n`);
  }

  /** What programs read and is no JSON, as it is. */
  writeExact(text: string): void {
    this.#open().write(text);
  }

  get writableLength(): number {
    return this.#open().writableLength;
  }
}
