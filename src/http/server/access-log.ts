/** Writes the access log entry and the metric of each request once it has finished. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../../log.ts';
import type { RequestState } from './endpoint.ts';

/** Metrics of a finished request. `route` is a pattern or `unmatched`, never a raw path. */
export interface FinishedRequest {
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
}

interface AccessLogOptions {
  readonly observe: (request: FinishedRequest) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
}

/** Registers the state of a request that has arrived and reports it when the response is closed. */
export function trackRequest(
  options: AccessLogOptions,
  states: WeakMap<IncomingMessage, RequestState>,
  request: IncomingMessage,
  response: ServerResponse,
): RequestState {
  const state = createRequestState(request, options.now());
  states.set(request, state);
  const startedMs = performance.now();
  response.on('close', () => {
    report(options, state, request, response, performance.now() - startedMs);
  });
  return state;
}

/** 128 characters fit the column of the audit log. Any other request id is replaced. */
const requestIdPattern = /^[\w.:-]{1,128}$/;

export function createRequestState(request: IncomingMessage, startedAt: number): RequestState {
  const id = request.headers['x-request-id'];
  const isValid = typeof id === 'string' && requestIdPattern.test(id);
  return {
    id: isValid ? id : randomUUID(),
    startedAt,
    route: 'unmatched',
    callerId: null,
  };
}

/** Called once for each request, including aborted ones. */
function report(
  { log, observe }: AccessLogOptions,
  state: RequestState,
  request: IncomingMessage,
  response: ServerResponse,
  durationMs: number,
): void {
  const method = request.method ?? '';
  const { route, id: requestId, callerId: principalId } = state;
  const status = response.statusCode;
  observe({ method, route, status, durationMs });
  const aborted = response.writableFinished ? undefined : true;
  const roundedMs = Math.round(durationMs * 1000) / 1000;
  const entry = { method, route, status, durationMs: roundedMs, requestId, principalId, aborted };
  if (/^\/(livez|readyz|startupz)$/.test(route)) log.debug(entry, 'request');
  else log.info(entry, 'request');
}
