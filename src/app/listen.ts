/** Opens listeners, explains why one cannot be opened, and closes them after callers have left. */
import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '../failure.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { HttpServer } from '../http/server/server.ts';
import type { Log } from '../log.ts';
import type { McpPlane } from '../mcp/plane/mcp-plane.ts';
import type { Settings } from '../settings.ts';
import { inferencePort } from './gateway.ts';
import { mcpPort } from './mcp-plane.ts';

/** URLs of the listeners; null for a component that does not run. */
export interface Addresses {
  readonly adminUrl: string | null;
  readonly inferenceUrl: string | null;
  /** Without the path of a server, `/{slug}/mcp`. */
  readonly mcpUrl: string | null;
  /** Where gateways without a database connect. */
  readonly linkUrl: string | null;
  readonly metricsUrl: string;
}

/** Servers that are null do not listen. */
export async function listenAll(
  settings: Settings,
  servers: {
    readonly admin: HttpServer | null;
    readonly inference: Gateway['server'] | null;
    readonly mcp: McpPlane['listener'] | null;
    readonly link: HttpServer | null;
    readonly metrics: HttpServer;
  },
): Promise<Addresses> {
  const { host, port, metricsPort } = settings.server;
  const { admin, inference, mcp, link, metrics } = servers;
  const linkPort = settings.controlLink.listener?.port ?? 0;
  const inferenceSetting = 'GATEWRIGHT_INFERENCE_PORT';
  return {
    adminUrl: admin && (await listen(admin, host, port, 'PORT')),
    inferenceUrl:
      inference && (await listen(inference, host, inferencePort(settings), inferenceSetting)),
    mcpUrl: mcp && (await listen(mcp, host, mcpPort(settings), 'GATEWRIGHT_MCP_PORT')),
    linkUrl: link && (await listen(link, host, linkPort, 'GATEWRIGHT_LINK_PORT')),
    metricsUrl: await listen(metrics, host, metricsPort, 'GATEWRIGHT_METRICS_PORT'),
  };
}

const listenFaults: Record<string, string> = {
  EADDRINUSE: 'another program already listens there',
  EACCES: 'this user may not use that port',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'that host name is unknown',
};

/** Resolves with the URL. @throws Failure when the address cannot be used */
async function listen(
  server: Pick<HttpServer, 'listen'>,
  host: string,
  port: number,
  setting: string,
): Promise<string> {
  try {
    return await server.listen(host, port);
  } catch (error) {
    throw listenFailure(host, port, setting, error as Error);
  }
}

/** Explains why a server could not listen at the address that `setting` configures. */
export function listenFailure(host: string, port: number, setting: string, error: Error): Error {
  const fault = listenFaults[String((error as NodeJS.ErrnoException).code)];
  if (fault === undefined) return error;
  return new Failure(
    'invalidInput',
    `Cannot listen on ${host}:${port}: ${fault}. Change GATEWRIGHT_HOST or ${setting}; ` +
      'port 0 (--port 0) selects a free port.',
    { cause: error },
  );
}

/** Load balancers poll `/readyz`, or learn of a shutdown, within a few seconds. */
const lameDuckSecondsDefault = 5;

/** Waits until load balancers have noticed the drain, if there may be callers, then closes. */
export async function closeServers(
  { settings, log }: { readonly settings: Settings; readonly log: Log },
  servers: readonly Pick<HttpServer, 'close'>[],
  waitsForCallers: boolean,
): Promise<void> {
  const { drainSeconds, lameDuckSeconds } = settings.server;
  const lameDuckMs = (lameDuckSeconds ?? lameDuckSecondsDefault) * 1000;
  if (waitsForCallers) await delay(lameDuckMs);
  log.debug('accepting no new connections');
  await Promise.all(servers.map((server) => server.close(drainSeconds * 1000)));
}
