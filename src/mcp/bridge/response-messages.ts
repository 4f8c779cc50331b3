/** Reads the messages of a response one by one, from JSON or from a stream of events. */
import { isEventStream } from '../../model/wire/media-type.ts';
import { EventTooLarge, type StreamEvent, StreamEventReader } from '../messages/event-stream.ts';
import { serverUnusable } from '../messages/plane-fault.ts';
import { readShortBody } from '../transfer/read-response.ts';
import { chunksOf, type LiveResponse } from '../transfer/response-chunks.ts';

const messageBytesMax = 8 * 1024 * 1024;

/** Messages that are not JSON are left out of a stream. @throws PlaneFault for a body that cannot be read */
export async function* messagesIn(response: LiveResponse): AsyncGenerator<unknown> {
  if (isEventStream(response.headers)) {
    yield* streamed(response);
    return;
  }
  const body = await readShortBody(response, messageBytesMax);
  try {
    yield JSON.parse(body.toString('utf8'));
  } catch {
    throw serverUnusable('its response is not valid JSON');
  }
}

async function* streamed(response: LiveResponse): AsyncGenerator<unknown> {
  const reader = new StreamEventReader(messageBytesMax);
  for await (const chunk of chunksOf(response)) {
    for (const { data } of eventsIn(reader, chunk)) {
      if (data === null || data === '') continue;
      let message: unknown;
      try {
        message = JSON.parse(data);
      } catch {
        continue;
      }
      yield message;
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
