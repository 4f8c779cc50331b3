/** Sends a request to an MCP server over the transport that the server has: streamable HTTP, or HTTP+SSE. */
import type { BodyMemory } from '../../gateway/transfer/body-memory.ts';
import type { JsonBounds } from '../../model/json/json-scan.ts';
import { Call } from '../../upstream/call.ts';
import type { Origins } from '../../upstream/origins.ts';
import type { ServerCall } from '../transfer/response-chunks.ts';
import type { EventRequest, EventSessions } from './event-sessions.ts';

/** How servers are reached. */
export interface ServerConnections {
  readonly origins: Pick<Origins, 'at'>;
  readonly events: Pick<EventSessions, 'call'>;
  /** Bounds the messages of servers that are read before they are sent. */
  readonly responseMemory: Pick<BodyMemory, 'hold'>;
  readonly jsonBounds: JsonBounds;
}

export interface ServerRequestParts extends Omit<EventRequest, 'headers'> {
  /** Names in lower case. */
  readonly headers: Record<string, string>;
  /** Whether the server speaks HTTP+SSE. */
  readonly isEventTransport: boolean;
}

/** The response begins later. */
export function callMcpServer(
  { origins, events }: ServerConnections,
  request: ServerRequestParts,
): ServerCall {
  if (request.isEventTransport) return events.call(request);
  const { method, headers, body, silenceTimeoutMs } = request;
  const { origin, path } = addressOf(request.url);
  return new Call(origins.at(origin), { origin, path, method, headers, body, silenceTimeoutMs });
}

interface ServerAddress {
  readonly origin: string;
  readonly path: string;
}

const addresses = new WeakMap<URL, ServerAddress>();

/** Cached, because each member of a URL is computed when it is read. */
function addressOf(url: URL): ServerAddress {
  const known = addresses.get(url);
  if (known !== undefined) return known;
  const { origin, pathname, search } = url;
  const address = { origin, path: pathname + search };
  addresses.set(url, address);
  return address;
}
