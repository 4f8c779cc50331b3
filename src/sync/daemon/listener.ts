/** Knows the HTTP listener of a daemon: probes, figures, and the webhook that makes a look due. */
import fastify, { type FastifyInstance } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Secret } from '../../secret.ts';
import type { Standing } from '../status/sync-state.ts';
import type { LookHints } from './look-hints.ts';
import type { SyncMetrics } from './sync-metrics.ts';
import { readWebhook } from './webhook.ts';

export interface ListenerOptions {
  readonly clock: Clock;
  readonly standing: () => Standing;
  readonly isDraining: () => boolean;
  /** How long source or server may be out of reach before the daemon counts as not ready, ms. */
  readonly readyMs: number;
  readonly metrics: SyncMetrics;
  readonly hints: Pick<LookHints, 'give'>;
  /** Without one no webhook is taken. */
  readonly webhookSecret: Secret | undefined;
  /** See `readWebhook`. */
  readonly refs: readonly (string | null)[];
}

export interface Listener extends AsyncDisposable {
  /** `http://host:port` */
  readonly url: string;
}

/** Pushes of any size that people make are smaller; a larger one is found by the next look. */
const bodyBytesMax = 1024 * 1024;
const connectionsMax = 100;
const timeoutMs = 10_000;

/** Port 0 takes a free one. Rejects when it cannot be had. */
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
    // No route has a schema of the framework, which would load a compiler for one.
    schemaController: {
      compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler },
    },
    http: { headersTimeout: timeoutMs, maxHeaderSize: 16 * 1024 },
  });
  server.server.maxConnections = connectionsMax;
  // Signatures are over bytes, whatever the sender calls them.
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

/** A daemon that stands by is ready: were it not, none could ever follow another in a rollout. */
function unreadiness({ clock, standing, isDraining, readyMs }: ListenerOptions): string[] {
  const { hasLooked, unreachableSince, message } = standing();
  const awayMs = unreachableSince === null ? 0 : clock.now() - unreachableSince;
  return [
    ...(isDraining() ? ['the process is stopping'] : []),
    ...(hasLooked ? [] : [`the first look is not over${message === null ? '' : `: ${message}`}`]),
    ...(awayMs > readyMs
      ? [`out of reach for ${Math.round(awayMs / 1000)} s: ${message ?? 'no reason was told'}`]
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
    if (!hint.isDue) return { due: false, reason: 'it is about no ref that is watched' };
    hints.give();
    return await reply.code(202).send({ due: true });
  });
}
