/** Serves the HTTP endpoints of a daemon: probes, metrics, and the webhook that triggers a look. */
import fastify, { type FastifyInstance } from 'fastify';
import type { Clock } from '../../clock.ts';
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
  const server = fastify({
    bodyLimit: bodyBytesMax,
    requestTimeout: timeoutMs,
    connectionTimeout: timeoutMs,
    keepAliveTimeout: timeoutMs,
    forceCloseConnections: true,
    // No route has a schema, so the framework need not load a compiler.
    schemaController: {
      compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler },
    },
    http: { headersTimeout: timeoutMs, maxHeaderSize: 16 * 1024 },
  });
  server.server.maxConnections = connectionsMax;
  // Signatures cover the raw bytes, whatever the content type.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body));
  addProbes(server, options);
  addWebhook(server, options);
  const url = await server.listen({ host, port });
  return { url, [Symbol.asyncDispose]: () => server.close() };
}

function noCompiler(): never {
  throw new Error('no route of the daemon has a schema');
}

function addProbes(server: FastifyInstance, options: ListenerOptions): void {
  server.get('/livez', async () => ({ status: 'ok', reasons: [] }));
  server.get('/readyz', async (_, reply) => {
    const reasons = unreadiness(options);
    const status = reasons.length === 0 ? 'ok' : 'unavailable';
    return await reply.code(reasons.length === 0 ? 200 : 503).send({ status, reasons });
  });
  server.get('/metrics', async (_, reply) => {
    const { text, contentType } = await options.metrics.show();
    return await reply.type(contentType).send(text);
  });
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

function addWebhook(server: FastifyInstance, options: ListenerOptions): void {
  const { webhookSecret, metrics, refs, hints, clock } = options;
  if (webhookSecret === undefined) return;
  server.post('/webhook', async ({ headers, body }, reply) => {
    const hook = { headers, body: Buffer.isBuffer(body) ? body : Buffer.alloc(0) };
    const hint = readWebhook(hook, webhookSecret, refs, clock.now());
    if (hint === null) {
      metrics.observeWebhook('unknown', 'refused');
      return await reply.code(401).send({ error: 'the signature is missing or wrong' });
    }
    metrics.observeWebhook(hint.form, hint.isDue ? 'due' : 'ignored');
    if (!hint.isDue) return { due: false, reason: 'it concerns no watched ref' };
    hints.trigger();
    return await reply.code(202).send({ due: true });
  });
}
