/** Knows how requests reach their routes, and how what comes of them is sent. */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../log.ts';
import { ApiError, type ErrorKind } from '../model/errors.ts';
import type { Connections } from './connections.ts';
import type { Endpoint, Running } from './endpoint.ts';
import type { PendingAnswer } from './gated-socket.ts';
import { bodyLimitsOf } from './input.ts';
import type { MountedRoute } from './registry.ts';
import { type Answer, answerOf, errorAnswer, toApiError, usualHeaders } from './respond.ts';
import type { CredentialKind, ErrorForm } from './route.ts';
import type { RouteTable } from './route-table.ts';
import { endWithSlices, SlicedText } from './sliced-text.ts';

/** What every route shares. */
export interface RouteKit {
  readonly app: FastifyInstance;
  readonly running: WeakMap<IncomingMessage, Running>;
  readonly holdBehind: Connections['holdBehind'];
  readonly classifyError: (error: unknown) => ErrorKind;
  readonly log: Log;
}

/**
 * The framework is given no routes but one for each bound of a body, which it keeps while it reads;
 * which of them a request takes follows from what our own table found for it.
 */
export function attach(kit: RouteKit, endpoints: readonly Endpoint[]): void {
  const bounds = new Set(endpoints.map(({ mounted }) => bodyLimitsOf(mounted.route).bytesMax));
  const runningOf = ({ raw }: FastifyRequest): Running => kit.running.get(raw)!;
  const mountedOf = (request: FastifyRequest): MountedRoute<never> =>
    runningOf(request).found!.entry.mounted;
  for (const bytesMax of bounds) {
    kit.app.route({
      method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      url: '*',
      bodyLimit: bytesMax,
      constraints: { [bodyBound]: String(bytesMax) },
      errorHandler: (error, request, reply) => {
        const { route, accepts } = mountedOf(request);
        send(kit, reply, failure(kit, error, request, route.errors ?? 'wrapped', accepts));
      },
      onRequest: async (request, reply) => {
        const running = runningOf(request);
        const { mounted, admit } = running.found!.entry;
        if (mounted.route.mayClose === true) kit.holdBehind(reply.raw);
        running.route = mounted.pattern;
        await admit(request, running);
      },
      handler: async (request, reply) => {
        const running = runningOf(request);
        const { mounted, handle } = running.found!.entry;
        const answer = answerOf(await handle(request, running), mounted.route.successStatus ?? 200);
        send(kit, reply, answer instanceof Promise ? await answer : answer);
      },
    });
  }
}

/** The framework's name for what tells its routes apart. */
export const bodyBound = 'bodyBytesMax';

/** For the framework's router: the bound of the body of what our table has for the request. */
export function bodyBoundStrategy(
  running: WeakMap<IncomingMessage, Running>,
  table: RouteTable<Endpoint>,
) {
  return {
    name: bodyBound,
    storage: () => new Map(),
    deriveConstraint: (request: IncomingMessage) => {
      const state = running.get(request)!;
      const found = table.find(request.method!, request.url!.split('?', 1)[0]!);
      state.found = found;
      return found === null ? 'none' : String(bodyLimitsOf(found.entry.mounted.route).bytesMax);
    },
  };
}

/** Answers what no route takes: 405 where another method would do, else 404. */
export function answerStrangers(kit: RouteKit, table: RouteTable<Endpoint>): void {
  const refuse = (request: FastifyRequest, reply: FastifyReply): void => {
    const allowed = table.methodsOf(request.url.split('?', 1)[0]!);
    const error = new ApiError(allowed.length > 0 ? 'methodNotAllowed' : 'notFound');
    const answer = errorAnswer(error, 'wrapped', []);
    const headers = allowed.length > 0 ? { allow: allowed.join(', ') } : answer.headers;
    send(kit, reply, { ...answer, headers });
  };
  kit.app.setNotFoundHandler(refuse);
  kit.app.setErrorHandler((error, request, reply) => {
    // What the framework asks of a body, or of QUERY without one, says nothing where no route is.
    if (toApiError(error, kit.classifyError).status < 500) refuse(request, reply);
    else send(kit, reply, failure(kit, error, request, 'wrapped', []));
  });
}

/** The answer is finished, so the framework is passed by: it would look at type and headers once more. */
function send(kit: RouteKit, reply: FastifyReply, { status, text, headers }: Answer): void {
  const response = reply.hijack().raw;
  const lines: Record<string, string | number | string[]> = {
    'x-request-id': kit.running.get(response.req)!.id,
    ...usualHeaders,
    ...headers,
  };
  // What the framework has to say: that a connection ends whose request it leaves unread.
  const connection = reply.getHeader('connection');
  if (connection !== undefined) lines.connection = connection;
  const isSliced = text instanceof SlicedText;
  const bytes = isSliced ? text.bytes : text === null ? 0 : Buffer.byteLength(text);
  // A 304 tells the length of nothing.
  if (status !== 304 && bytes !== null) lines['content-length'] = bytes;
  response.writeHead(status, lines);
  if (!isSliced) response.end(text);
  else endWithSlices(response, text.slices).catch((error) => cutOff(kit, response, error));
}

/** The status is out already; that the connection ends within the answer tells its reader. */
function cutOff(kit: RouteKit, response: PendingAnswer, thrown: unknown): void {
  const error = toApiError(thrown, kit.classifyError);
  logFault(kit, error, kit.running.get(response.req)?.id, 'answer broken off');
  response.destroy();
}

function failure(
  kit: RouteKit,
  thrown: unknown,
  request: FastifyRequest,
  form: ErrorForm,
  accepts: readonly CredentialKind[],
): Answer {
  return errorAnswer(explain(kit, thrown, kit.running.get(request.raw)?.id), form, accepts);
}

/** What the caller is told of anything thrown; only faults of ours are logged. */
export function explain(
  kit: Pick<RouteKit, 'classifyError' | 'log'>,
  thrown: unknown,
  requestId: string | undefined,
): ApiError {
  const error = toApiError(thrown, kit.classifyError);
  if (error.status >= 500) {
    const text = error.kind === 'internal' ? 'request failed' : 'request could not be served now';
    logFault(kit, error, requestId, text);
  }
  return error;
}

/** Without the fields where drivers keep the values of a statement. */
function logFault(
  { log }: Pick<RouteKit, 'log'>,
  error: ApiError,
  requestId: string | undefined,
  text: string,
): void {
  const cause = (error.cause ?? error) as Partial<Record<string, unknown>>;
  const { name, message, code, errno, stack } = cause;
  const line = { requestId, error: { name, message, code, errno, stack } };
  if (error.kind === 'internal') log.error(line, text);
  else log.warn(line, text);
}
