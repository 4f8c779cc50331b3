/** Reads the bodies of requests to the mock upstream, and writes the heads of its responses. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';

const bodyBytesMax = 32 * 1024 * 1024;

/** The parsed value, undefined for an empty body; null for a body that is too large or not JSON. */
export async function readMockJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) return null;
    chunks.push(chunk);
  }
  if (bytes === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return null;
  }
}

/** No header contains text of the request. */
export function writeMockHead(
  response: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, headers);
}
