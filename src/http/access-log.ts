/** Knows what is told of requests once they are over: a line of the log, and a figure. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../log.ts';
import type { Running } from './endpoint.ts';

/** One finished exchange, for metrics. `route` is a pattern or `unmatched`, never a raw path. */
export interface Exchange {
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
}

interface Teller {
  readonly observe: (exchange: Exchange) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
}

/** What is known of a request from now on, until it is told at its end. */
export function note(
  options: Teller,
  running: WeakMap<IncomingMessage, Running>,
  request: IncomingMessage,
  response: ServerResponse,
): Running {
  const state = begin(request, options.now());
  running.set(request, state);
  const started = performance.now();
  response.on('close', () => {
    report(options, state, request, response, performance.now() - started);
  });
  return state;
}

/** As long as the audit log keeps one; a longer one, or one of other characters, is replaced. */
const requestIdPattern = /^[\w.:-]{1,128}$/;

export function begin(request: IncomingMessage, startedAt: number): Running {
  const given = request.headers['x-request-id'];
  const sane = typeof given === 'string' && requestIdPattern.test(given);
  return {
    id: sane ? given : randomUUID(),
    startedAt,
    found: null,
    route: 'unmatched',
    callerId: null,
  };
}

/** One line and one observation a request, whatever became of it. */
function report(
  { log, observe }: Teller,
  state: Running,
  request: IncomingMessage,
  response: ServerResponse,
  durationMs: number,
): void {
  const method = request.method ?? '';
  const { route, id: requestId, callerId: principalId } = state;
  const status = response.statusCode;
  observe({ method, route, status, durationMs });
  const aborted = response.writableFinished ? undefined : true;
  const rounded = Math.round(durationMs * 1000) / 1000;
  const line = { method, route, status, durationMs: rounded, requestId, principalId, aborted };
  if (/^\/(livez|readyz|startupz)$/.test(route)) log.debug(line, 'request');
  else log.info(line, 'request');
}
