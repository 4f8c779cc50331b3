/** Serves the HTTP endpoints of a daemon: probes, metrics, and the webhook that triggers a look. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../clock.ts';
import { writeResponseHead } from '../../http/responses/response-head.ts';
import type { Secret } from '../../secret.ts';
import type { LoopStatus } from '../status/sync-state.ts';
import type { LookHints } from './look-hints.ts';
import type { SyncMetrics } from './sync-metrics.ts';
import { readWebhook } from './webhook.ts';

export interface ListenerOptions {
  readonly clock: Clock;
  readonly status: () => LoopStatus;
  readonly isDraining: () => boolean;
  /** How long source or server may be unreachable before the daemon is not ready, ms. */
  readonly readyMs: number;
  readonly metrics: SyncMetrics;
  readonly hints: Pick<LookHints, 'trigger'>;
  /** Without one, no webhook endpoint exists. */
  readonly webhookSecret: Secret | undefined;
  /** See `readWebhook`. */
  readonly refs: readonly (string | null)[];
}

export interface Listener extends AsyncDisposable {
  /** `http://host:port` */
  readonly url: string;
}

/** Ordinary push payloads are smaller; the next regular look finds what a larger one reports. */
const bodyBytesMax = 1024 * 1024;
const connectionsMax = 100;
const timeoutMs = 10_000;

/** Listens on the port; 0 takes a free one. Rejects when it cannot listen. */
export async function startListener(
  { host, port }: { readonly host: string; readonly port: number },
  options: ListenerOptions,
): Promise<Listener> {
  const server = createServer(
    {
      headersTimeout: timeoutMs,
      requestTimeout: timeoutMs,
      keepAliveTimeout: timeoutMs,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 16 * 1024,
    },
    (request, response) => {
      serve(request, response, options).catch(() => response.destroy());
    },
  );
  server.maxConnections = connectionsMax;
  server.setTimeout(timeoutMs);
  server.listen({ host, port });
  await once(server, 'listening');
  const { address, family, port: bound } = server.address() as AddressInfo;
  const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`;
  return { url, [Symbol.asyncDispose]: () => close(server) };
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

interface Reply {
  readonly status: number;
  /** An object is sent as JSON. */
  readonly body: object | string;
  /** The type of a text. */
  readonly contentType?: string;
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: ListenerOptions,
): Promise<void> {
  let reply: Reply;
  try {
    reply = await replyTo(request, options);
  } catch {
    reply = { status: 500, body: { error: 'unexpected error' } };
  }
  const { status, body, contentType = 'application/json; charset=utf-8' } = reply;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'content-type': contentType, 'content-length': Buffer.byteLength(text) };
  // The rest of a body that was not read does not become another request.
  const isRead =
    request.complete ||
    (request.headers['content-length'] ?? request.headers['transfer-encoding']) === undefined;
  writeResponseHead(response, status, isRead ? headers : { ...headers, connection: 'close' });
  response.end(text);
}

async function replyTo(request: IncomingMessage, options: ListenerOptions): Promise<Reply> {
  const { method, url = '' } = request;
  const [path] = url.split('?', 1);
  if (method === 'POST' && path === '/webhook' && options.webhookSecret !== undefined) {
    return await replyToWebhook(request, options.webhookSecret, options);
  }
  if (method === 'GET' || method === 'HEAD') {
    if (path === '/livez') return { status: 200, body: { status: 'ok', reasons: [] } };
    if (path === '/readyz') return readiness(options);
    if (path === '/metrics') {
      const { text, contentType } = await options.metrics.show();
      return { status: 200, body: text, contentType };
    }
  }
  return { status: 404, body: { error: 'this address does not exist' } };
}

function readiness(options: ListenerOptions): Reply {
  const reasons = unreadiness(options);
  const isReady = reasons.length === 0;
  return { status: isReady ? 200 : 503, body: { status: isReady ? 'ok' : 'unavailable', reasons } };
}

/** A daemon on standby is ready: otherwise a rollout could never replace the leader. */
function unreadiness({ clock, status, isDraining, readyMs }: ListenerOptions): string[] {
  const { hasLooked, unreachableSince, message } = status();
  const awayMs = unreachableSince === null ? 0 : clock.now() - unreachableSince;
  return [
    ...(isDraining() ? ['the process is stopping'] : []),
    ...(hasLooked
      ? []
      : [`the first look has not finished${message === null ? '' : `: ${message}`}`]),
    ...(awayMs > readyMs
      ? [`out of reach for ${Math.round(awayMs / 1000)} s: ${message ?? 'no reason is known'}`]
      : []),
  ];
}

async function replyToWebhook(
  request: IncomingMessage,
  secret: Secret,
  { metrics, refs, hints, clock }: ListenerOptions,
): Promise<Reply> {
  const body = await readBody(request);
  if (body === null) {
    return { status: 413, body: { error: `the body exceeds ${bodyBytesMax} bytes` } };
  }
  const hint = readWebhook({ headers: request.headers, body }, secret, refs, clock.now());
  if (hint === null) {
    metrics.observeWebhook('unknown', 'refused');
    return { status: 401, body: { error: 'the signature is missing or wrong' } };
  }
  metrics.observeWebhook(hint.form, hint.isDue ? 'due' : 'ignored');
  if (!hint.isDue) {
    return { status: 200, body: { due: false, reason: 'it concerns no watched ref' } };
  }
  hints.trigger();
  return { status: 202, body: { due: true } };
}

/** Signatures cover the raw bytes, whatever the content type. Null for a body that is too large. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  if (Number(request.headers['content-length'] ?? 0) > bodyBytesMax) return null;
  const pieces: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop would destroy the socket, and with it the response.
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    bytes += (piece as Buffer).length;
    if (bytes > bodyBytesMax) return null;
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces);
}
