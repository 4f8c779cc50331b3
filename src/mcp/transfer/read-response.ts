/** Reads short bodies of responses before they are delivered. */
import type { BodyHold } from '../../http/input/body-hold.ts';
import type { JsonBounds } from '../../model/json/json-scan.ts';
import { serverFailed, serverUnusable } from '../messages/plane-fault.ts';
import { chunksOf, type LiveResponse } from './response-chunks.ts';

/** How the messages of one response are read. */
export interface ResponseReading {
  /** Counts messages until they are taken. */
  readonly memory: BodyHold;
  readonly bounds: JsonBounds;
}

/**
 * `memory` counts the bytes, where they can be many.
 *
 * @throws PlaneFault for a longer or broken body @throws GatewayError when there is no memory for it
 */
export async function readShortBody(
  response: LiveResponse,
  bytesMax: number,
  memory: BodyHold | null = null,
): Promise<Buffer> {
  const gathered: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(response)) {
    memory?.add(chunk.length);
    gathered.push(chunk);
    bytes += chunk.length;
    if (bytes <= bytesMax) continue;
    const { status } = response;
    if (status >= 400) throw serverFailed(status, { status });
    throw serverUnusable(`its response has more than ${bytesMax} bytes`);
  }
  return Buffer.concat(gathered);
}

/** The response with a body that was read before. */
export function replayed({ status, headers }: LiveResponse, body: Buffer): LiveResponse {
  return {
    status,
    headers,
    cut: () => {},
    resume: () => {},
    pipe: (sink) => {
      sink.data(body);
      sink.end();
    },
  };
}
