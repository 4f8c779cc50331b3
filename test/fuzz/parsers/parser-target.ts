/** Describes a parser under test, and judges one input. */
import { inspect, isDeepStrictEqual } from 'node:util';

export interface ParserTarget {
  readonly name: string;
  /** Selects the modules whose coverage guides the search, by URL. */
  readonly sources: RegExp;
  /** Tokens of the format. */
  readonly dictionary: readonly string[];
  /** Throws when the parser breaks a guarantee with this input. */
  check(input: Buffer): void | Promise<void>;
}

/** Processor time that any input may take. */
const baseMs = 400;
/** More time for each byte; parsers take far less than a microsecond. */
const msPerByte = 0.005;

/** Returns what is wrong; null when every guarantee holds within linear time. */
export async function faultOf(target: ParserTarget, input: Buffer): Promise<string | null> {
  const before = process.cpuUsage();
  try {
    await settled(target.check(input));
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
  const { user, system } = process.cpuUsage(before);
  const ms = (user + system) / 1_000;
  if (ms <= baseMs + input.length * msPerByte) return null;
  return `Slow: ${Math.round(ms)} ms of processor time for ${input.length} bytes`;
}

/** A check that takes no processor time has nothing left to wait for. */
const settleMs = 5_000;

async function settled(checked: void | Promise<void>): Promise<void> {
  if (checked === undefined) return;
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('never settles')), settleMs);
  try {
    await Promise.race([checked, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** @throws Error when the values differ */
export function requireEqual(what: string, found: unknown, expected: unknown): void {
  if (isDeepStrictEqual(found, expected)) return;
  const text = (value: unknown) =>
    String(inspect(value, { depth: 6, breakLength: 120 })).slice(0, 400);
  throw new Error(`${what}: ${text(found)} instead of ${text(expected)}`);
}
