/** Runs the listener of the MCP gateway: reads the path `/{server slug}/mcp` and starts each request. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { detach } from '../../detached.ts';
import { aliasFault, ownHeaders } from '../../gateway/callers/exchange.ts';
import {
  type CallerListener,
  type CallerListenerOptions,
  createCallerListener,
} from '../../gateway/transfer/caller-listener.ts';
import { GatewayError } from '../../gateway/transfer/gateway-error.ts';
import { errorResponseText } from '../../gateway/transfer/malformed-request.ts';
import { refuseAmbiguity } from '../../http/input/ambiguity.ts';
import { addOwnHeader, writeResponseHead } from '../../http/responses/response-head.ts';
import { newId } from '../../model/wire/ids.ts';
import { monotonicMs } from '../../monotonic.ts';
import { serveMcp } from './pipeline.ts';
import { PlaneReply } from './plane-reply.ts';
import type { McpArrival, PlaneServices } from './plane-services.ts';

export interface McpListenerOptions
  extends Pick<CallerListenerOptions, 'connectionsMax' | 'onRefusedBytes'> {
  readonly services: PlaneServices;
  /** Receives the URL of the listener. */
  readonly onListening: (url: string) => void;
}

export type McpListener = CallerListener;

export function createMcpListener(options: McpListenerOptions): McpListener {
  const { services, connectionsMax, onRefusedBytes, onListening } = options;
  const listener = createCallerListener({
    connectionsMax,
    onRefusedBytes,
    what: 'an MCP request',
    refusalText: errorResponseText,
    serve: (request, response, isExcess) => {
      const arrival = arrivalOf(services, request, response);
      const refusal = refusalOf(services, request, isExcess);
      if (refusal === null) {
        if (servePublicDocument(services, request, response)) return;
        const browsing = services.connections.serve(request, response);
        if (browsing !== null) {
          detach('a page of the MCP gateway', browsing);
          return;
        }
        detach('an MCP request', serveMcp(services, arrival));
        return;
      }
      // The rest of the connection cannot be trusted.
      response.shouldKeepAlive = false;
      onRefusedBytes(refusal);
      detach('an MCP request', new PlaneReply(services, arrival).fail(refusal));
    },
    onClose: () => {},
  });
  return {
    ...listener,
    listen: async (host, port) => {
      const url = await listener.listen(host, port);
      onListening(url);
      return url;
    },
    get inFlight() {
      return listener.inFlight;
    },
    close: async (graceMs) => {
      const closing = listener.close(graceMs);
      services.streams.endAll();
      await closing;
    },
  };
}

function refusalOf(
  { headerPrefixes }: PlaneServices,
  request: IncomingMessage,
  isExcess: boolean,
): GatewayError | null {
  if (isExcess) {
    const message = 'The gateway has reached its connection limit; try again';
    return new GatewayError('unavailable', message);
  }
  const ambiguity = refuseAmbiguity(request);
  if (ambiguity !== null) return new GatewayError('invalid_request', ambiguity.message);
  return aliasFault(request, headerPrefixes);
}

/** Serves metadata of protected resources and the key set. Returns false for any other request. */
function servePublicDocument(
  { resource, identities }: PlaneServices,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (request.method !== 'GET') return false;
  const path = pathOf(request);
  const found = resource.isKeySet(path)
    ? identities.keySet
    : resource.metadataAt(path, queryOf(request));
  if (found === null) return false;
  const text = JSON.stringify(found);
  writeResponseHead(response, 200, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    'cache-control': 'max-age=300',
  });
  response.end(text);
  return true;
}

function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  return new URLSearchParams(url.split('?').slice(1).join('?'));
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0]!;
}

/** A trace id sent by the caller is used, as in the Admin API and for inference. */
const traceIdPattern = /^[\w.:-]{1,128}$/;
const pathPattern = /^\/([A-Za-z0-9_-]{1,255})\/mcp\/?$/;

function arrivalOf(
  services: PlaneServices,
  request: IncomingMessage,
  response: ServerResponse,
): McpArrival {
  const header = ownHeaders(request, services.headerPrefixes);
  const sentId = header('trace-id');
  const ageSeconds = services.configurationAgeSeconds();
  if (ageSeconds !== null) addOwnHeader(response, 'x-gateway-config-age', String(ageSeconds));
  return {
    id: sentId !== null && traceIdPattern.test(sentId) ? sentId : newId(),
    request,
    response,
    header,
    slug: pathPattern.exec(pathOf(request))?.[1] ?? null,
    beganMs: monotonicMs(),
    now: services.now(),
  };
}
