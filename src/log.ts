/** Knows how a log line looks: one JSON object a line, bounded in size, with credentials blacked out. */
import type { Writable } from 'node:stream';
import { type Logger, destination as openDestination, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from './settings.ts';

export type Log = Logger;

/** A longer line is cut, because collectors split or drop what exceeds their buffer (C123). */
export const logLineBytesMax = 32 * 1024;
const stderrFd = 2;
/** Beyond this many waiting bytes lines are dropped rather than the process stalled or its memory filled. */
const backlogBytesMax = 4 * 1024 * 1024;

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

/**
 * Writes to `destination`, or to standard error (without ever blocking on it) when none is given.
 * Redaction works on the finished line, so that no serializer or nesting can go round it.
 */
export function createLog(options: {
  level: LogLevel;
  destination?: Pick<Writable, 'write'>;
}): Log {
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: (line) => bound(redact(line)) },
    },
    options.destination ??
      openDestination({ dest: stderrFd, sync: false, maxLength: backlogBytesMax }),
  );
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
  return `${JSON.stringify({ level, time, msg: start(msg), cutBytes: bytes, start: start(line) })}\n`;
}
