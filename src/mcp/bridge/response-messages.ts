/** Reads the messages of a response one by one, from JSON or from a stream of events. */
import type { BodyHold } from '../../http/input/body-hold.ts';
import { readJson } from '../../model/json/read-object.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import { EventTooLarge, type StreamEvent, StreamEventReader } from '../messages/event-stream.ts';
import { serverUnusable } from '../messages/plane-fault.ts';
import { readShortBody } from '../transfer/read-response.ts';
import { chunksOf, type LiveResponse } from '../transfer/response-chunks.ts';

const messageBytesMax = 8 * 1024 * 1024;

/**
 * Messages that are not JSON are left out of a stream. `memory` counts each until the next one is read.
 *
 * @throws PlaneFault for a body that cannot be read @throws GatewayError when there is no memory for it
 */
export async function* messagesIn(
  response: LiveResponse,
  memory: BodyHold,
): AsyncGenerator<unknown> {
  try {
    yield* isEventStream(response.headers)
      ? streamed(response, memory)
      : wholeMessage(response, memory);
  } finally {
    memory.release();
  }
}

async function* wholeMessage(response: LiveResponse, memory: BodyHold): AsyncGenerator<unknown> {
  const body = await readShortBody(response, messageBytesMax, memory);
  try {
    yield JSON.parse(body.toString('utf8'));
  } catch {
    throw serverUnusable('its response is not valid JSON');
  }
}

async function* streamed(response: LiveResponse, memory: BodyHold): AsyncGenerator<unknown> {
  const reader = new StreamEventReader(messageBytesMax);
  for await (const chunk of chunksOf(response)) {
    memory.add(chunk.length);
    for (const { data, bytes } of eventsIn(reader, chunk)) {
      const message = data === null || data === '' ? undefined : readJson(data);
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
