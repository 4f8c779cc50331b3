/** Builds the request that a family of objects receives, with the file that is uploaded with it. */
import type { IncomingMessage } from 'node:http';
import type { ObjectRequest, Upload } from '../../objects/object-request.ts';
import type { Owner } from '../../objects/owner.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { RequestContext } from '../calls/request-context.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import { readBody } from '../transfer/read-body.ts';
import { isShort, StreamedBody } from '../transfer/streamed-body.ts';
import { modelCallerOf, modelCallsOf } from './internal-calls.ts';

/** The SDKs of OpenAI and Anthropic send this header with each request. */
const retryCountHeader = 'x-stainless-retry-count';

export function objectRequestOf(
  context: RequestContext,
  owned: OwnedPath,
  owner: Owner,
): ObjectRequest {
  const { now, request, params, query, unreadUpload } = context.exchange;
  return {
    owner,
    now,
    kind: owned.kind,
    id: owned.id,
    rest: owned.rest,
    params,
    upload: unreadUpload === undefined ? null : uploadOf(unreadUpload),
    method: request.method!,
    query: new URLSearchParams(query),
    contentType: request.headers['content-type'] ?? null,
    isRetry: Number(request.headers[retryCountHeader]) > 0,
    models: modelCallsOf(context),
    modelCaller: () => modelCallerOf(context),
  };
}

/**
 * Attaches an upload on its way to a provider. A short body is read completely, so that it can be sent
 * again; any other is streamed.
 *
 * @throws GatewayError when the body exceeds the bound of a file
 */
export async function withBody(context: RequestContext): Promise<RequestContext> {
  const { exchange, services, draft } = context;
  const { unreadUpload } = exchange;
  if (unreadUpload === undefined) return context;
  const bytesMax = services.fileBytesMax + formBytesMax;
  const hold = services.bodyMemory.hold(exchange.key.id);
  context.arrival.response.once('close', () => hold.release());
  const complete: Exchange = isShort(unreadUpload)
    ? { ...exchange, unreadUpload: undefined, body: await readBody(unreadUpload, bytesMax, hold) }
    : {
        ...exchange,
        unreadUpload: undefined,
        streamedBody: new StreamedBody(unreadUpload, bytesMax),
      };
  draft.exchange = complete;
  return context.withExchange(complete);
}

/** Bound of a form without its file. */
const formBytesMax = 64 * 1024;

/** Stopping the iteration keeps the connection open, because the response uses it. */
function uploadOf(request: IncomingMessage): Upload {
  const length = request.headers['content-length'];
  return {
    bytes: length === undefined ? null : Number(length),
    pieces: request.iterator({ destroyOnReturn: false }),
  };
}
