/** Writes the output of commands to streams and makes all of it safe for terminals. */
import type { Writable } from 'node:stream';
import { forTerminal, printable } from '../../terminal-text.ts';
import { PipeReaders } from './pipe-readers.ts';

/** A stream; `isTTY` is true for a terminal, and `fd` is its descriptor. */
export type TextStream = Writable & { readonly isTTY?: boolean; readonly fd?: number };

/** Parts are combined to writes of this length. */
const writeLength = 64 * 1024;

/** Standard output or standard error of a command; also the destination of a log. */
export class TextOutput {
  /** Opened on first use, because opening takes time. */
  readonly #open: () => TextStream;
  /** Colours are used at a terminal unless NO_COLOR is set. */
  readonly #mayColor: () => boolean;
  /** Length of the current status line. */
  #statusLength = 0;

  constructor(open: () => TextStream, mayColor: () => boolean) {
    this.#open = open;
    this.#mayColor = mayColor;
  }

  get isTerminal(): boolean {
    return this.#open().isTTY === true;
  }

  /**
   * Shows a status line at a terminal until the next output; `''` clears it. Does nothing for other
   * streams. The line is overwritten with spaces, which works in every terminal.
   */
  writeStatus(line: string): void {
    const stream = this.#open();
    if (stream.isTTY !== true || (line === '' && this.#statusLength === 0)) return;
    const text = forTerminal(line, { color: false });
    stream.write(`\r${text.padEnd(this.#statusLength)}${line === '' ? '\r' : ''}`);
    this.#statusLength = text.length;
  }

  /** Writes text for people; terminals interpret only our own colours. */
  write(text: string, done?: (error: Error | null | undefined) => void): boolean {
    this.writeStatus('');
    const stream = this.#open();
    const color = stream.isTTY === true && this.#mayColor();
    return stream.write(forTerminal(text, { color }), done);
  }

  /** Like {@link write}, for a text in parts, without holding all of it in memory. */
  writeParts(parts: Iterable<string>): void {
    let gathered = '';
    for (const part of parts) {
      gathered += part;
      if (gathered.length < writeLength) continue;
      this.write(gathered);
      gathered = '';
    }
    if (gathered !== '') this.write(gathered);
  }

  /** Writes one JSON document exactly. */
  writeJson(document: unknown): void {
    this.#open().write(`${printable(JSON.stringify(document, null, 2))}\n`);
  }

  /** Writes one of many JSON documents on its own line. */
  writeJsonLine(document: unknown): void {
    this.#open().write(`${printable(JSON.stringify(document))}\n`);
  }

  /** Writes text for programs unchanged. */
  writeExact(text: string): void {
    this.#open().write(text);
  }

  /** The readers of this output, for a command that waits without writing. */
  openReaders(): PipeReaders {
    return new PipeReaders(this.#open().fd);
  }

  get writableLength(): number {
    return this.#open().writableLength;
  }
}
