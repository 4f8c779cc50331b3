/** Reads the messages of a response one by one, from JSON or from a stream of events. */
import { isEventStream } from '../../model/wire/media-type.ts';
import { EventTooLarge, type StreamEvent, StreamEventReader } from '../messages/event-stream.ts';
import { serverUnusable } from '../messages/plane-fault.ts';
import { readServerBody, readServerEvent } from '../messages/server-json.ts';
import { type ResponseReading, readShortBody } from '../transfer/read-response.ts';
import { chunksOf, type LiveResponse } from '../transfer/response-chunks.ts';

const messageBytesMax = 8 * 1024 * 1024;

/**
 * Messages that cannot be read are left out of a stream. `memory` counts each until the next one is read.
 *
 * @throws PlaneFault for a body that cannot be read @throws GatewayError when there is no memory for it
 */
export async function* messagesIn(
  response: LiveResponse,
  reading: ResponseReading,
): AsyncGenerator<unknown> {
  try {
    yield* isEventStream(response.headers)
      ? streamed(response, reading)
      : wholeMessage(response, reading);
  } finally {
    reading.memory.release();
  }
}

async function* wholeMessage(
  response: LiveResponse,
  { memory, bounds }: ResponseReading,
): AsyncGenerator<unknown> {
  const body = await readShortBody(response, messageBytesMax, memory);
  yield await readServerBody(body, bounds);
}

async function* streamed(
  response: LiveResponse,
  { memory, bounds }: ResponseReading,
): AsyncGenerator<unknown> {
  const reader = new StreamEventReader(messageBytesMax);
  for await (const chunk of chunksOf(response)) {
    memory.add(chunk.length);
    for (const { data, bytes } of eventsIn(reader, chunk)) {
      const message =
        data === null || data === '' ? undefined : await readServerEvent(Buffer.from(data), bounds);
      if (message !== undefined) yield message;
      memory.add(-bytes.length);
    }
  }
}

function eventsIn(reader: StreamEventReader, chunk: Buffer): readonly StreamEvent[] {
  try {
    return reader.push(chunk);
  } catch (cause) {
    if (!(cause instanceof EventTooLarge)) throw cause;
    throw serverUnusable(`an event has more than ${messageBytesMax} bytes`, { cause });
  }
}
