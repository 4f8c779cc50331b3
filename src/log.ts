/** Writes the log: one JSON object a line, bounded in size, with credentials redacted. */
import { Writable } from 'node:stream';
import { type Logger, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from './settings.ts';
import { printable } from './terminal-text.ts';

export type Log = Logger;

/** Longer lines are cut, because log collectors split or drop them. */
export const logLineBytesMax = 32 * 1024;
/** Lines are dropped when more bytes than this are waiting. */
const backlogBytesMax = 4 * 1024 * 1024;
/** Logging resumes below this, so that a slow reader does not cause one loss report a line. */
const backlogBytesLow = backlogBytesMax / 2;

/** Fields with these names contain credentials, in any case and at any depth. */
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

/** Destination of the lines: a Node stream or any other text writer. */
interface Destination extends Partial<Pick<Writable, 'writableLength'>> {
  write(line: string, done?: (error: Error | null | undefined) => void): unknown;
}

/** Lines of these levels are written in batches; others at once. */
const patientLine = /^\{"level":"(?:trace|debug|info)"/;
/** Maximum delay of a batch; a process that is killed loses up to this much. */
const gatherMs = 10;

/**
 * Writes to `destination`, by default standard error. Drops lines that exceed the backlog limit or
 * that fail to be written, and logs their number once writing works again. Redaction is applied to
 * the finished line, so serializers and nesting cannot bypass it.
 */
export function createLog(options: { level: LogLevel; destination?: Destination }): Log {
  const { level, destination = process.stderr } = options;
  // An unhandled error event would end the process; LineSink sees each error in its write callback.
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

/** Forwards lines to a stream that may stall or fail, and counts lost lines. */
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
    // A destination that is not a stream is written to at once.
    if (writableLength !== undefined && patientLine.test(line)) this.#wait();
    else this.#writeGathered();
  }

  /** Starts a batch: a system call for each line would cost more than the line itself. */
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

/** Bypasses the logger, whose level may exclude the line. */
function lostLine(lostLines: number): string {
  const msg = 'log lines were lost because they could not be written';
  const time = new Date().toISOString();
  return `${JSON.stringify({ level: 'warn', time, lostLines, msg })}\n`;
}

function redact(line: string): string {
  return line.replace(secretField, '"$1":"[redacted]"').replace(bearerToken, '$1 [redacted]');
}

/** Truncates an oversized line to its level, time and the start of its message, with the original size. */
function bound(line: string): string {
  if (line.length * 3 <= logLineBytesMax) return line;
  const bytes = Buffer.byteLength(line);
  if (bytes <= logLineBytesMax) return line;
  const { level, time, msg } = JSON.parse(line) as Record<string, unknown>;
  const start = (text: unknown): string => String(text ?? '').slice(0, logLineBytesMax / 16);
  const cut = { level, time, msg: start(msg), cutBytes: bytes, start: start(line) };
  return `${printable(JSON.stringify(cut))}\n`;
}
