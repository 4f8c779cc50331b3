/** Reads short bodies of responses before they are delivered. */
import { PlaneFault } from '../messages/plane-fault.ts';
import { chunksOf, type LiveResponse } from './response-chunks.ts';

/** @throws PlaneFault for a longer or broken body */
export async function readShortBody(response: LiveResponse, bytesMax: number): Promise<Buffer> {
  const gathered: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(response)) {
    gathered.push(chunk);
    bytes += chunk.length;
    if (bytes <= bytesMax) continue;
    const { status } = response;
    const text =
      status < 400
        ? `The MCP server cannot be used: its response has more than ${bytesMax} bytes`
        : `The MCP server responded with status ${status}`;
    throw new PlaneFault('server_unusable', text, status < 400 ? {} : { status });
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
