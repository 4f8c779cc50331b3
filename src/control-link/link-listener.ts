/** Creates the listener of a control plane, at which gateways without a database connect with mutual TLS. */
import type { Route } from '../http/routes/route.ts';
import { defaultHttpLimits, type HttpServerOptions } from '../http/server/http-server-options.ts';
import { createHttpServer, type HttpServer } from '../http/server/server.ts';
import { atMostOncePer } from '../rate-limited.ts';
import { type MutualTlsOptions, mutualTlsListener } from './mutual-tls.ts';

export interface LinkListenerOptions
  extends Pick<MutualTlsOptions, 'readCertificates' | 'clientNames'>,
    Pick<
      HttpServerOptions<never>,
      'classifyError' | 'observe' | 'onRefusedBytes' | 'onUnexpectedError' | 'now' | 'log'
    > {
  /** Served to every peer that the handshake admits. */
  readonly routes: readonly Route<null>[];
  readonly connectionsMax: number;
}

/** Interval between log lines about refused peers. */
const refusedLogEveryMs = 10_000;
/** Gateways keep their connections, and send many requests on each. */
const requestsPerSocketMax = 1_000_000;

/** @throws when the certificates are not usable */
export function createLinkListener(options: LinkListenerOptions): HttpServer {
  const { routes, readCertificates, clientNames, connectionsMax, log, ...rest } = options;
  const tls: MutualTlsOptions = {
    readCertificates,
    clientNames,
    onRefused: atMostOncePer(refusedLogEveryMs, (reason, remoteAddress) => {
      log.warn({ reason, remoteAddress }, 'a peer of the link was refused');
    }),
    onUnusable: (err) => log.error({ err }, 'the new certificates of the link are not usable'),
  };
  return createHttpServer<never>({
    ...rest,
    log,
    routes: [],
    publicRoutes: routes,
    authenticate: () => Promise.reject(new Error('the handshake authenticates all peers')),
    authorise: () => undefined,
    callerId: () => '',
    disabledFeatures: new Set(),
    createListener: (accept) => mutualTlsListener(tls, accept),
    limits: { ...defaultHttpLimits, connectionsMax, requestsPerSocketMax },
  });
}
