/**
 * Starts a bare HTTP server for a test: its own routes, no database, callers named by their token.
 */

import { createRefusedBytesReporter } from '../../../src/http/connections/refused-bytes.ts';
import type { Route } from '../../../src/http/routes/route.ts';
import type { FinishedRequest } from '../../../src/http/server/access-log.ts';
import {
  defaultHttpLimits,
  type HttpLimits,
} from '../../../src/http/server/http-server-options.ts';
import { createHttpServer, type HttpServer } from '../../../src/http/server/server.ts';
import { createLog } from '../../../src/log.ts';
import { ApiError } from '../../../src/model/wire/errors.ts';

export interface HttpHarness {
  readonly server: HttpServer;
  readonly url: string;
  readonly logLines: string[];
  readonly exchanges: FinishedRequest[];
}

/** Callers are named by their bearer value; `outsider` lacks every scope. */
export async function startHttp(
  routes: Route<string>[],
  limits: Partial<HttpLimits> = {},
  publicRoutes: Route<null>[] = [],
): Promise<HttpHarness> {
  const logLines: string[] = [];
  const exchanges: FinishedRequest[] = [];
  const write = (line: string): boolean => logLines.push(line) > 0;
  const log = createLog({ level: 'debug', destination: { write } });
  const server = createHttpServer<string>({
    routes,
    publicRoutes,
    authenticate: async ({ authorization }) => {
      if (authorization === null) throw new ApiError('unauthorized');
      return authorization.replace('Bearer ', '');
    },
    authorise: (caller) => {
      if (caller === 'outsider') throw new ApiError('forbidden');
    },
    callerId: (caller) => caller,
    disabledFeatures: new Set(['mcp']),
    classifyError: (error) => (error === 'database' ? 'unavailable' : 'internal'),
    onRefusedBytes: createRefusedBytesReporter('test', () => {}, log),
    onUnexpectedError: () => undefined,
    observe: (one) => exchanges.push(one),
    now: () => 1_000,
    log,
    limits: { ...defaultHttpLimits, ...limits },
  });
  return { server, url: await server.listen('127.0.0.1', 0), logLines, exchanges };
}
