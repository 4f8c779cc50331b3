/** Forwards a request to the replica that keeps its call or its session open, and its response to the client. */
import { Agent, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { networkInterfaces } from 'node:os';
import { pipeline } from 'node:stream';
import { writeResponseHead } from '../../http/responses/response-head.ts';
import { callStateFault } from '../rounds/call-states.ts';

/** Marks a forwarded request, which is not forwarded again. */
export const forwardedHeader = 'x-gateway-forwarded';

/** A replica in the same network answers at once, or is gone. */
const connectMs = 2_000;
const agent = new Agent({ keepAlive: true, maxFreeSockets: 16, timeout: 60_000 });
/** Headers of the connection between the client and this replica. */
const ownNames = [
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/**
 * The owner authenticates the client and applies all rules itself, so that replicas need not trust each other. Its
 * address comes from a sealed state, which only a replica can have written.
 *
 * @throws PlaneFault when the owner cannot be reached
 */
export async function forwardToOwner(
  owner: string,
  received: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  unreachable: () => Error = callStateFault,
): Promise<void> {
  const { origin, host, hostname, port } = new URL(owner);
  const headers: Record<string, string | string[] | undefined> = { ...received.headers };
  for (const name of ownNames) delete headers[name];
  Object.assign(headers, { host, [forwardedHeader]: '1', 'content-length': String(body.length) });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const sent = send({
    agent,
    hostname,
    port,
    path: received.url,
    method: received.method,
    headers,
  });
  const timer = setTimeout(() => sent.destroy(new Error(`${origin} does not respond`)), connectMs);
  sent.on('socket', (socket) => {
    if (socket.connecting) socket.once('connect', () => clearTimeout(timer));
    else clearTimeout(timer);
  });
  response.once('close', () => sent.destroy());
  sent.on('response', (answer) => {
    writeResponseHead(response, answer.statusCode!, passedHeaders(answer));
    response.flushHeaders();
    pipeline(answer, response, () => resolve());
  });
  sent.on('error', () => {
    clearTimeout(timer);
    reject(unreachable());
  });
  sent.end(body);
  await promise;
}

function passedHeaders({ headers }: IncomingMessage): Record<string, string | string[]> {
  const passed = Object.entries(headers).filter(
    ([name, value]) =>
      value !== undefined && (name === 'content-length' || !ownNames.includes(name)),
  );
  return Object.fromEntries(passed) as Record<string, string | string[]>;
}

/** The address of a listener as other replicas reach it; `0.0.0.0` becomes that of the first network interface. */
export function reachableAddress(listening: string): string {
  const url = new URL(listening);
  if (url.hostname !== '0.0.0.0' && url.hostname !== '[::]') return url.origin;
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const outer = addresses.find(({ internal, family }) => !internal && family === 'IPv4');
  url.hostname = outer?.address ?? '127.0.0.1';
  return url.origin;
}
