/** Knows what a family of objects is told of a request, and a file that is sent with it, which is read by who takes it. */
import type { IncomingMessage } from 'node:http';
import type { ObjectRequest, Upload } from '../../objects/object-request.ts';
import type { Owner } from '../../objects/owner.ts';
import type { Calling } from '../answering/calling.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import { isShort, PassingBody } from '../transfer/passing-body.ts';
import { readBody } from '../transfer/read-body.ts';
import { modelCallerOf, modelCallsOf } from './model-callers.ts';

/** What clients of OpenAI and of Anthropic tell with each request. */
const retryCountHeader = 'x-stainless-retry-count';

export function objectRequestOf(calling: Calling, owned: OwnedPath, owner: Owner): ObjectRequest {
  const { exchange } = calling;
  const { now, request, params, unread } = exchange;
  const { kind, id, rest } = owned;
  return {
    ...{ owner, now, kind, id, rest, params },
    upload: unread === undefined ? null : uploadOf(unread),
    ...{ method: request.method!, query: new URLSearchParams(exchange.query) },
    contentType: request.headers['content-type'] ?? null,
    isRetry: Number(request.headers[retryCountHeader]) > 0,
    models: modelCallsOf(calling),
    modelCaller: () => modelCallerOf(calling),
  };
}

/**
 * With what is on its way to a provider: read whole where it is short, so that it can be sent again, else
 * passed on as it comes.
 *
 * @throws GatewayError where that is more than a file may have
 */
export async function withBody(calling: Calling): Promise<Calling> {
  const { exchange, pipeline, found } = calling;
  const { unread, ...rest } = exchange;
  if (unread === undefined) return calling;
  const bytesMax = pipeline.fileBytesMax + formBytesMax;
  found.exchange = isShort(unread)
    ? { ...rest, body: await readBody(unread, bytesMax) }
    : { ...rest, passing: new PassingBody(unread, bytesMax) };
  return { ...calling, exchange: found.exchange };
}

/** All of a form but its file. */
const formBytesMax = 64 * 1024;

/** Leaving it does not end the connection, by which the answer goes. */
function uploadOf(request: IncomingMessage): Upload {
  const length = request.headers['content-length'];
  return {
    bytes: length === undefined ? null : Number(length),
    pieces: request.iterator({ destroyOnReturn: false }),
  };
}
