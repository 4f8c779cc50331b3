/** Dispatches HTTP requests to their endpoints and writes the responses. */

import type { IncomingMessage } from 'node:http';
import { detach } from '../../detached.ts';
import type { Log } from '../../log.ts';
import { ApiError, type ErrorKind } from '../../model/wire/errors.ts';
import type { Connections } from '../connections/connections.ts';
import type { PendingResponse } from '../connections/gated-socket.ts';
import { endWithSlices, SlicedText } from '../connections/sliced-text.ts';
import { readBodyBytes } from '../input/body-bytes.ts';
import type { HeldBytes } from '../input/held-bytes.ts';
import { bodyLimitsOf } from '../input/input.ts';
import {
  commonHeaders,
  errorResponse,
  type RenderedResponse,
  renderResult,
  toApiError,
} from '../responses/respond.ts';
import { endAbruptly, writeResponseHead } from '../responses/response-head.ts';
import type { RouteMatch, RouteTable } from '../routes/route-table.ts';
import type { Endpoint, RequestState } from './endpoint.ts';

/** Dependencies that all endpoints share. */
export interface DispatchContext {
  readonly table: RouteTable<Endpoint>;
  readonly states: WeakMap<IncomingMessage, RequestState>;
  readonly holdBehind: Connections['holdBehind'];
  readonly heldBytes: HeldBytes;
  readonly classifyError: (error: unknown) => ErrorKind;
  readonly log: Log;
  readonly onUnexpectedError: () => void;
}

/** Serves one request; the returned function never throws. */
export function createDispatcher(
  context: DispatchContext,
): (request: IncomingMessage, response: PendingResponse) => void {
  return (request, response) => {
    const served = dispatch(context, request, response).catch((thrown: unknown) => {
      abort(context, response, thrown);
    });
    detach('a request of the Admin API', served);
  };
}

async function dispatch(
  context: DispatchContext,
  request: IncomingMessage,
  response: PendingResponse,
): Promise<void> {
  const match = context.table.find(request.method!, pathOf(request));
  if (match === null) send(context, response, unmatchedResponse(context, request));
  else await serve(context, match, request, response);
}

async function serve(
  context: DispatchContext,
  { entry, params }: RouteMatch<Endpoint>,
  request: IncomingMessage,
  response: PendingResponse,
): Promise<void> {
  const { route, pattern, accepts } = entry.mounted;
  const state = context.states.get(request)!;
  if (route.mayClose === true) context.holdBehind(response);
  state.route = pattern;
  using held = context.heldBytes.hold();
  try {
    const readBytes = () => readBodyBytes(request, bodyLimitsOf(route).bytesMax, held);
    const result = await entry.serve(request, state, params, readBytes);
    const rendered = renderResult(result, route.successStatus ?? 200);
    send(context, response, rendered instanceof Promise ? await rendered : rendered);
  } catch (thrown) {
    const error = toLoggedApiError(context, thrown, state.id);
    // Without this the connection would stay open to receive the rest of a refused body.
    const isRefused = error.kind === 'tooLarge' || error.kind === 'unavailable';
    if (isRefused && !request.complete) response.shouldKeepAlive = false;
    send(context, response, errorResponse(error, route.errors ?? 'wrapped', accepts));
  }
}

/**
 * 405 with `Allow` when the path has routes for other methods, else 404, in the form of the route when only a parameter
 * is too long for it. The body stays unread.
 */
function unmatchedResponse({ table }: DispatchContext, request: IncomingMessage): RenderedResponse {
  const path = pathOf(request);
  const allowed = table.methodsOf(path);
  if (allowed.length === 0) {
    const form = table.findNearest(request.method!, path)?.mounted.route.errors;
    return errorResponse(new ApiError('notFound'), form ?? 'wrapped', []);
  }
  const response = errorResponse(new ApiError('methodNotAllowed'), 'wrapped', []);
  return { status: response.status, text: response.text, headers: { allow: allowed.join(', ') } };
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0]!;
}

function send(
  context: DispatchContext,
  response: PendingResponse,
  { status, text, headers }: RenderedResponse,
): void {
  const lines: Record<string, string | number | string[]> = {
    'x-request-id': context.states.get(response.req)!.id,
    ...commonHeaders,
    ...headers,
  };
  const isSliced = text instanceof SlicedText;
  const bytes = isSliced ? text.bytes : text === null ? 0 : Buffer.byteLength(text);
  // A 304 carries no body, so its content-length would describe nothing.
  if (status !== 304 && bytes !== null) lines['content-length'] = bytes;
  writeResponseHead(response, status, lines);
  if (!isSliced) response.end(text);
  else {
    const sent = endWithSlices(response, text.slices).catch((error: unknown) => {
      abort(context, response, error);
    });
    detach('a response of the Admin API', sent);
  }
}

/** Ends the connection mid-response; with 500 while no status is sent yet. */
function abort(context: DispatchContext, response: PendingResponse, thrown: unknown): void {
  const error = toApiError(thrown, context.classifyError);
  logServerError(context, error, context.states.get(response.req)?.id, 'response aborted');
  endAbruptly(response);
}

/** Converts anything thrown to the error that the caller receives; logs server errors (5xx) only. */
export function toLoggedApiError(
  context: Pick<DispatchContext, 'classifyError' | 'log' | 'onUnexpectedError'>,
  thrown: unknown,
  requestId: string | undefined,
): ApiError {
  const error = toApiError(thrown, context.classifyError);
  if (error.status >= 500) {
    const text = error.kind === 'internal' ? 'request failed' : 'request could not be served now';
    logServerError(context, error, requestId, text);
  }
  return error;
}

/** Logs selected fields only: drivers store the values of a statement in the others. */
function logServerError(
  { log, onUnexpectedError }: Pick<DispatchContext, 'log' | 'onUnexpectedError'>,
  error: ApiError,
  requestId: string | undefined,
  text: string,
): void {
  const cause = (error.cause ?? error) as Partial<Record<string, unknown>>;
  const { name, message, code, errno, stack } = cause;
  const entry = { requestId, error: { name, message, code, errno, stack } };
  if (error.kind !== 'internal') {
    log.warn(entry, text);
    return;
  }
  onUnexpectedError();
  log.error(entry, text);
}
