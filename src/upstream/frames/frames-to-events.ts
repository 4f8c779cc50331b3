/** Converts the frames of an AWS event stream to server-sent events, which all later steps read. */
import type { Frame } from './frame.ts';
import { FrameFault } from './frame.ts';
import { FrameReader } from './frame-reader.ts';

const nothing = Buffer.alloc(0);

export class FrameEvents {
  readonly #reader = new FrameReader();

  /** @throws FrameFault */
  pass(chunk: Buffer): Buffer {
    const frames = this.#reader.push(chunk);
    return frames.length === 0 ? nothing : Buffer.from(frames.map(eventOf).join(''));
  }

  /** @throws FrameFault when the stream ends within a frame */
  end(): void {
    this.#reader.end();
  }
}

/**
 * A chunk of InvokeModel contains an event of the model; an event of Converse becomes an object with the name of the
 * event as its only member; an exception becomes an error event.
 */
function eventOf({ headers, payload }: Frame): string {
  const kind = headers.get(':message-type') ?? 'event';
  if (kind !== 'event') return exceptionOf(headers, payload);
  const name = headers.get(':event-type') ?? '';
  if (name === 'chunk') return chunkOf(payload);
  const text = payload.toString('utf8');
  objectIn(text);
  return `event: ${lineOf(name)}\ndata: {${JSON.stringify(name)}:${lineOf(text)}}\n\n`;
}

function chunkOf(payload: Buffer): string {
  const { bytes } = objectIn(payload.toString('utf8')) as { readonly bytes?: unknown };
  if (typeof bytes !== 'string') throw new FrameFault('a chunk has no bytes');
  const text = Buffer.from(bytes, 'base64').toString('utf8');
  const { type } = objectIn(text) as { readonly type?: unknown };
  const name = typeof type === 'string' ? `event: ${lineOf(type)}\n` : '';
  return `${name}data: ${lineOf(text)}\n\n`;
}

function exceptionOf(headers: Frame['headers'], payload: Buffer): string {
  const type = headers.get(':exception-type') ?? headers.get(':error-code') ?? 'error';
  let message = headers.get(':error-message') ?? '';
  try {
    const body = objectIn(payload.toString('utf8')) as { readonly message?: unknown };
    if (typeof body.message === 'string') message = body.message;
  } catch {
    // An exception without a body is described by its headers.
  }
  const error = { type, message: message === '' ? type : message };
  return `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`;
}

function objectIn(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FrameFault('a payload is not JSON');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new FrameFault('a payload is not a JSON object');
}

/** In valid JSON a line break is a blank between values. */
function lineOf(text: string): string {
  return /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]+/g, ' ') : text;
}
