/** Knows how the answer of a provider goes to the caller: its bytes as they are, no faster than the caller takes them. */
import type { ServerResponse } from 'node:http';
import { type AnswerHeaders, type Call, CallCut } from '../upstream/call.ts';
import type { Caller } from './caller.ts';

/** Looks at the bytes that go by, and changes none. */
interface Onlooker {
  data(chunk: Buffer): void;
}

export interface RelayOptions {
  readonly response: ServerResponse;
  readonly caller: Caller;
  /** Beside those of the provider. */
  readonly headers: Readonly<Record<string, string>>;
  readonly onlooker: Onlooker | null;
  /** Called when the first piece of a stream, or all of another answer, is there. */
  readonly onFirst: () => void;
}

/** How a relay ended. */
export type RelayEnd =
  | { readonly kind: 'whole' }
  /** The caller went, and the provider was told. */
  | { readonly kind: 'left' }
  /** The provider did not go on; what was sent by then cannot be taken back. */
  | { readonly kind: 'broken'; readonly error: Error; readonly isStarted: boolean };

/** Answers up to here are sent in one piece, which costs the least. */
const gatheredBytesMax = 4 * 1024 * 1024;

/** Of the connection to the provider, or of no use behind us; a cookie would be one of the gateway's own. */
const heldBack = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'set-cookie', 'alt-svc', 'strict-transport-security'],
]);

/** Sends the answer that has begun; resolves when the last byte is on its way, or none will follow. */
export function relay(call: Call, options: RelayOptions): Promise<RelayEnd> {
  const { promise, resolve } = Promise.withResolvers<RelayEnd>();
  const { response, caller, onlooker, onFirst } = options;
  caller.onLeave(() => {
    call.cut(new CallCut('the caller has gone'));
    resolve({ kind: 'left' });
  });
  const isStream = isEventStream(call.headers);
  let gathered: Buffer[] | null = isStream ? null : [];
  let gatheredBytes = 0;
  const begin = (): void => {
    response.writeHead(call.status, passedHeaders(call.headers, options.headers));
    response.on('drain', () => call.resume());
  };
  if (isStream) {
    begin();
    // A stream is worth its headers before its first event.
    response.flushHeaders();
  }
  let isFirst = true;
  call.pipe({
    data: (chunk) => {
      onlooker?.data(chunk);
      if (isFirst && isStream) onFirst();
      isFirst = false;
      if (gathered === null) return response.write(chunk);
      gathered.push(chunk);
      gatheredBytes += chunk.length;
      if (gatheredBytes <= gatheredBytesMax) return true;
      onFirst();
      begin();
      const all = Buffer.concat(gathered);
      gathered = null;
      return response.write(all);
    },
    end: () => {
      onFirst();
      caller.onLeave(null);
      if (gathered !== null) sendWhole(call, gathered, options);
      else response.end();
      resolve({ kind: 'whole' });
    },
    fail: (error) => {
      onFirst();
      caller.onLeave(null);
      const isStarted = response.headersSent;
      // An answer that ends as if it were whole would be taken for one.
      if (isStarted) response.destroy();
      resolve({ kind: 'broken', error, isStarted });
    },
  });
  return promise;
}

function sendWhole(
  call: Call,
  gathered: readonly Buffer[],
  { response, headers }: RelayOptions,
): void {
  const body = gathered.length === 1 ? gathered[0]! : Buffer.concat(gathered);
  const all = passedHeaders(call.headers, headers);
  // One that asks for the head only is told of a length that it does not get.
  if (response.req.method !== 'HEAD' && call.status !== 204 && call.status !== 304) {
    all['content-length'] = String(body.length);
  }
  response.writeHead(call.status, all).end(body);
}

export function isEventStream(headers: AnswerHeaders): boolean {
  const type = headers['content-type'];
  return typeof type === 'string' && type.startsWith('text/event-stream');
}

function passedHeaders(
  given: AnswerHeaders,
  ours: Readonly<Record<string, string>>,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (const name in given) {
    const value = given[name];
    if (value !== undefined && !heldBack.has(name)) headers[name] = value;
  }
  for (const name in ours) headers[name] = ours[name]!;
  return headers;
}
