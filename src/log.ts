/** Knows how a log line looks: one JSON object a line, bounded in size, with credentials blacked out. */
import { Writable } from 'node:stream';
import { type Logger, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from './settings.ts';
import { printable } from './terminal-text.ts';

export type Log = Logger;

/** A longer line is cut, because collectors split or drop what exceeds their buffer. */
export const logLineBytesMax = 32 * 1024;
/** Beyond this many waiting bytes lines are dropped rather than the memory filled. */
const backlogBytesMax = 4 * 1024 * 1024;
/** From here on lines are taken again, so that a slow reader is not told of each one dropped. */
const backlogBytesLow = backlogBytesMax / 2;

/** Field names, in any case and at any depth, whose value is a credential. */
const secretFields = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-[\\w-]*api-key',
  'api-key',
  'password',
  'client_secret',
  'clientSecret',
  'access_token',
  'secretAccessKey',
].join('|');
const secretField = new RegExp(
  String.raw`(?<!\\)"(${secretFields})":(?:"(?:[^"\\]|\\.)*"|\[[^\]]*\])`,
  'gi',
);
const bearerToken = /\b(Bearer|Basic) [\w.~+/=-]{8,}/gi;

/** Where lines go: a stream of Node, or whatever else takes text. */
interface Destination extends Partial<Pick<Writable, 'writableLength'>> {
  write(line: string, done?: (error: Error | null | undefined) => void): unknown;
}

/** Lines of these levels are written together; of the others each at once. */
const patientLine = /^\{"level":"(?:trace|debug|info)"/;
/** Longest that they wait; a process that is killed without warning loses as much of them. */
const gatherMs = 10;

/**
 * Writes to `destination`, standard error when none is given. Lines that its reader leaves waiting
 * beyond a limit, and lines it fails to take, are dropped; how many is logged once it works again.
 * Redaction works on the finished line, so that no serializer or nesting can go round it.
 */
export function createLog(options: { level: LogLevel; destination?: Destination }): Log {
  const { level, destination = process.stderr } = options;
  // An error that nobody listens to would end the process; the sink hears of each by its line.
  if (destination instanceof Writable && destination.listenerCount('error') === 0) {
    destination.on('error', () => {});
  }
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: (line) => bound(printable(redact(line))) },
    },
    new LineSink(destination),
  );
}

/** Passes lines on to a stream that may stall or fail, and counts those that are lost. */
class LineSink {
  readonly #stream: Destination;
  #isFull = false;
  #isWaiting = false;
  #gathered = '';
  #gatheredLines = 0;
  #lost = 0;

  constructor(stream: Destination) {
    this.#stream = stream;
  }

  write(line: string): void {
    const { writableLength } = this.#stream;
    this.#isFull ||= (writableLength ?? 0) + this.#gathered.length > backlogBytesMax;
    if (this.#isFull) {
      this.#lost += 1;
      return;
    }
    this.#gathered += line;
    this.#gatheredLines += 1;
    // What is no stream is written to at once.
    if (writableLength !== undefined && patientLine.test(line)) this.#wait();
    else this.#writeGathered();
  }

  /** One write a line would cost the server more than the line itself. */
  #wait(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    setTimeout(this.#endWait, gatherMs).unref();
    process.once('exit', this.#endWait);
  }

  readonly #endWait = (): void => {
    this.#isWaiting = false;
    process.removeListener('exit', this.#endWait);
    if (this.#gatheredLines > 0) this.#writeGathered();
  };

  #writeGathered(): void {
    const lines = this.#gatheredLines;
    const text = this.#gathered;
    this.#gathered = '';
    this.#gatheredLines = 0;
    this.#stream.write(text, (error) => this.#settle(error, lines));
  }

  #settle(error: Error | null | undefined, lines: number): void {
    if (error) {
      this.#lost += lines;
      this.#isFull = false;
    } else if ((this.#stream.writableLength ?? 0) <= backlogBytesLow) {
      this.#isFull = false;
      this.#tellLost();
    }
  }

  #tellLost(): void {
    const lost = this.#lost;
    if (lost === 0) return;
    this.#lost = 0;
    this.#stream.write(lostLine(lost), (error) => {
      if (error) this.#lost += lost;
    });
  }
}

/** Not through the logger, whose level may be above it. */
function lostLine(lostLines: number): string {
  const msg = 'log lines were lost because they could not be written';
  const time = new Date().toISOString();
  return `${JSON.stringify({ level: 'warn', time, lostLines, msg })}\n`;
}

function redact(line: string): string {
  return line.replace(secretField, '"$1":"[redacted]"').replace(bearerToken, '$1 [redacted]');
}

/** Keeps level, time and the start of what was said; the rest of an oversized line is only counted. */
function bound(line: string): string {
  if (line.length * 3 <= logLineBytesMax) return line;
  const bytes = Buffer.byteLength(line);
  if (bytes <= logLineBytesMax) return line;
  const { level, time, msg } = JSON.parse(line) as Record<string, unknown>;
  const start = (text: unknown): string => String(text ?? '').slice(0, logLineBytesMax / 16);
  const cut = { level, time, msg: start(msg), cutBytes: bytes, start: start(line) };
  return `${printable(JSON.stringify(cut))}\n`;
}
