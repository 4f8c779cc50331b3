/** Sends responses about objects that the gateway itself stores. */
import type { ServerResponse } from 'node:http';
import { writeResponseHead } from '../../http/responses/response-head.ts';
import { ByteStream, type ObjectResponse } from '../../objects/object-request.ts';
import { type CompleteOutcome, localOutcome } from '../calls/outcome.ts';
import type { RequestContext } from '../calls/request-context.ts';
import { gatewayHeaders } from '../calls/response-headers.ts';
import { noUsage } from '../metering/meter.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { drained } from '../transfer/body-pieces.ts';
import { stalledMs } from '../transfer/relay.ts';

/** An outcome for responses that the gateway itself produces; null for a body that follows separately. */
export function localJson(target: ResolvedTarget, json: object | null): CompleteOutcome {
  return localOutcome(target, {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: json === null ? Buffer.alloc(0) : Buffer.from(JSON.stringify(json)),
    metered: noUsage,
    cost: null,
    providerStatus: null,
  });
}

/** Sends the response of an object family; resolves when all of it has been written. */
export async function sendObject(
  { arrival, draft }: RequestContext,
  { status = 200, contentType, body }: ObjectResponse,
): Promise<void> {
  const { response } = arrival;
  const headers = gatewayHeaders(arrival, draft.outcome);
  draft.markFirstByte();
  draft.metered = noUsage;
  response.socket?.setTimeout(stalledMs);
  if (body instanceof ByteStream)
    return sendBytes(response, body, { status, headers, contentType });
  if (Symbol.asyncIterator in body) {
    writeResponseHead(response, status, {
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
    });
    response.write(Buffer.alloc(0));
    for await (const events of body as AsyncIterable<string>) {
      if (response.destroyed) return;
      if (!response.write(events)) await drained(response);
    }
    response.end();
    return;
  }
  const bytes = Buffer.from(JSON.stringify(body));
  writeResponseHead(response, status, {
    ...headers,
    ...(isPending(body) ? pollHeaders : {}),
    'content-type': contentType ?? 'application/json',
    'content-length': bytes.length,
  });
  response.end(bytes);
}

/** Without this header, clients of OpenAI poll every five seconds. */
const pollHeaders = { 'openai-poll-after-ms': '1000' };
const pendingStatuses: ReadonlySet<unknown> = new Set(['queued', 'in_progress', 'cancelling']);

function isPending(body: object): boolean {
  return 'status' in body && pendingStatuses.has(body.status);
}

interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string | undefined;
}

/** Writes the head with the first piece, so that a read error before it still becomes an error response. */
async function sendBytes(
  response: ServerResponse,
  { bytes, pieces }: ByteStream,
  { status, headers, contentType = 'application/octet-stream' }: Head,
): Promise<void> {
  const reader = pieces[Symbol.asyncIterator]();
  let next = await reader.next();
  writeResponseHead(response, status, {
    ...headers,
    'content-type': contentType,
    'content-length': bytes,
  });
  try {
    for (; next.done !== true; next = await reader.next()) {
      if (response.destroyed) return void (await reader.return?.());
      if (!response.write(next.value)) await drained(response);
    }
  } catch (error) {
    // Cuts the connection, so that the caller notices the missing bytes.
    response.destroy();
    throw error;
  }
  response.end();
}
