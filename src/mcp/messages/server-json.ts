/** Reads and writes messages of servers that rules must see, in turns of the event loop where they are long. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { writeJson } from '../../model/json/json-bytes.ts';
import { type JsonBounds, JsonScan } from '../../model/json/json-scan.ts';
import { longLengthMin, run } from '../../slices.ts';

/** The message says what the JSON is or has. */
export class ServerJsonFault extends Error {
  override name = 'ServerJsonFault';
}

/**
 * Synchronous for a short one.
 *
 * @throws ServerJsonFault for invalid JSON, and for a long one with more values or levels than requests may have
 */
export function readServerJson(bytes: Buffer, bounds: JsonBounds): unknown {
  return bytes.length < longLengthMin ? parsed(bytes.toString('utf8')) : readInTurns(bytes, bounds);
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
  await nextTurn();
  return parsed(text);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ServerJsonFault('is not valid JSON');
  }
}

/** @param length of the message as it was received */
export function writeServerJson(value: unknown, length: number): Buffer | Promise<Buffer> {
  return run(writeJson(value), length >= longLengthMin);
}
