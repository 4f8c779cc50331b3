/** Reads and writes messages of servers that rules must see, in turns of the event loop where they are long. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  digitsOf,
  parseExactJson,
  readExactJson,
  withoutDigits,
} from '../../model/json/exact-numbers.ts';
import { writeJson } from '../../model/json/json-bytes.ts';
import { type JsonBounds, JsonScan } from '../../model/json/json-scan.ts';
import { isObject } from '../../model/json/read-object.ts';
import { longLengthMin, run, runInTurns, runPromptly } from '../../slices.ts';
import { serverUnusable } from './plane-fault.ts';

/** The message says what the JSON is or has. */
class ServerJsonFault extends Error {
  override name = 'ServerJsonFault';
}

/**
 * Numbers keep their digits when the message is written again.
 *
 * @throws PlaneFault for invalid JSON, and for a long one with more values or levels than requests may have
 */
export async function readServerBody(bytes: Buffer, bounds: JsonBounds): Promise<unknown> {
  try {
    return await readJson(bytes, bounds);
  } catch (thrown) {
    if (!(thrown instanceof ServerJsonFault)) throw thrown;
    throw serverUnusable(`its response ${thrown.message}`);
  }
}

/** {@link readServerBody} of an event, which is left out when it cannot be read: undefined. */
export async function readServerEvent(json: Buffer, bounds: JsonBounds): Promise<unknown> {
  try {
    return await readJson(json, bounds);
  } catch (thrown) {
    if (thrown instanceof ServerJsonFault) return undefined;
    throw thrown;
  }
}

/** {@link readServerEvent} of a message of the server's own, without bounds. */
export function readShortMessage(text: string): unknown {
  try {
    return withPlainCodes(parseExactJson(text));
  } catch {
    return undefined;
  }
}

/** Synchronous for a short one. @throws ServerJsonFault */
function readJson(bytes: Buffer, bounds: JsonBounds): unknown {
  if (bytes.length >= longLengthMin) return readInTurns(bytes, bounds);
  const message = readShortMessage(bytes.toString('utf8'));
  return message === undefined ? refuseInvalid() : message;
}

async function readInTurns(bytes: Buffer, bounds: JsonBounds): Promise<unknown> {
  const scan = new JsonScan(bytes, bounds);
  for (;;) {
    const fault = scan.step();
    if (fault !== null) throw new ServerJsonFault(fault);
    await nextTurn();
    if (scan.isDone) break;
  }
  const text = bytes.toString('utf8');
  return withPlainCodes(await runInTurns(readExactJson(text)).catch(refuseInvalid));
}

/** Rules compare the codes of errors, so `-32602.0` is the number that it stands for. */
function withPlainCodes(message: unknown): unknown {
  for (const one of Array.isArray(message) ? message : [message]) {
    if (!isObject(one) || !isObject(one.error)) continue;
    const { error } = one;
    if (digitsOf(error.code) !== null) error.code = withoutDigits(error.code);
  }
  return message;
}

function refuseInvalid(): never {
  throw new ServerJsonFault('is not valid JSON');
}

/**
 * Writes a message in turns where it is long. `length` is that of the message as it was received, where it is known.
 *
 * @throws PlaneFault for a message that is nested too deeply
 */
export async function writeServerMessage(message: unknown, length?: number): Promise<Buffer> {
  try {
    return await (length === undefined
      ? runPromptly(writeJson(message))
      : writeServerJson(message, length));
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw serverUnusable('its response is nested too deeply');
  }
}

/** @param length of the message as it was received */
export function writeServerJson(value: unknown, length: number): Buffer | Promise<Buffer> {
  return run(writeJson(value), length >= longLengthMin);
}
