/** Creates the listener of metrics and probes. */
import { createRefusedBytesReporter } from '../http/connections/refused-bytes.ts';
import type { Route } from '../http/routes/route.ts';
import { createHttpServer, type HttpServer } from '../http/server/server.ts';
import type { Log } from '../log.ts';
import { classifyError } from './classify-error.ts';
import type { Metrics } from './metrics.ts';

/**
 * Listens on a separate port, so that metrics are not exposed beside the API, and probes respond when
 * the API has reached its connection limit.
 */
export function createMetricsServer(
  { clock, log }: { readonly clock: { now(): number }; readonly log: Log },
  { observeRefusedBytes: observe, observeUnexpectedError }: Metrics,
  publicRoutes: readonly Route<null>[],
): HttpServer {
  return createHttpServer<never>({
    routes: [],
    publicRoutes,
    authenticate: () => Promise.reject(new Error('the metrics listener has no guarded routes')),
    authorise: () => {},
    callerId: () => '',
    disabledFeatures: new Set(),
    classifyError,
    observe: () => {},
    onRefusedBytes: createRefusedBytesReporter('metrics', observe, log),
    onUnexpectedError: () => observeUnexpectedError('metrics'),
    now: () => clock.now(),
    log,
  });
}
