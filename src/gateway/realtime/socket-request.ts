/** Recognises requests for a realtime WebSocket, and reads what they offer. */
import type { IncomingMessage } from 'node:http';
import type { SettingsForm } from '../../model/realtime/session-settings.ts';
import { credentialsOf, type SentCredentials } from '../callers/authenticate.ts';
import type { ReadHeader } from '../callers/exchange.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

/** Subprotocols by which browsers, which can set no headers, send a credential. */
const keyProtocol = 'openai-insecure-api-key.';
const betaProtocol = 'openai-beta.realtime-v1';

const realtimePath = /^\/v1\/realtime\/?(?:\?|$)/i;
/** Clients of Google send two slashes, because their base address ends with one. */
const livePaths = [
  /^\/{1,2}ws\/google\.ai\.generativelanguage\.(v\w{1,12})\.GenerativeService\.BidiGenerateContent(?:Constrained)?\/?(?:\?|$)/,
  /^\/{1,2}ws\/google\.cloud\.aiplatform\.(v\w{1,12})\.LlmBidiService\/BidiGenerateContent\/?(?:\?|$)/,
];
const usualLivePath = /^\/v1beta\/live\/?(?:\?|$)/;
const keyHeader = 'x-goog-api-key';

/** Whether a request with an upgrade leads to a session; others are answered as requests without one. */
export function isSocketRequest({ url = '', headers }: IncomingMessage): boolean {
  return /\bwebsocket\b/i.test(headers.upgrade ?? '') && isSocketUrl(url);
}

function isSocketUrl(url: string): boolean {
  return realtimePath.test(url) || liveVersionIn(url) !== null;
}

/** The version of Gemini's API in the URL of its live API; null for any other URL. */
function liveVersionIn(url: string): string | null {
  const version = livePaths.map((pattern) => pattern.exec(url)?.[1]).find(Boolean);
  return version ?? (usualLivePath.test(url) ? 'v1beta' : null);
}

/**
 * Brings a request for Gemini's live API to its canonical URL, with the key of its query in a header. Returns the
 * version of the API, null for any other request, or why it is refused.
 */
export function takeLiveUrl(request: IncomingMessage): string | null | GatewayError {
  const { url = '' } = request;
  const version = liveVersionIn(url);
  if (version === null) return null;
  const members = new URLSearchParams(url.split('?', 2)[1] ?? '');
  const keys = ['key', 'access_token'].flatMap((name) => members.getAll(name));
  members.delete('key');
  members.delete('access_token');
  request.url = `/v1beta/live${members.size === 0 ? '' : `?${members}`}`;
  if (keys.length === 0) return version;
  const sent = request.headers[keyHeader];
  const [key = ''] = keys;
  if (keys.length > 1 || key === '' || (sent !== undefined && sent !== key)) {
    const message = `The query must not name several keys; send one key as ${keyHeader}`;
    return new GatewayError('invalid_request', message, 'key');
  }
  request.headers[keyHeader] = key;
  return version;
}

/** Whether a request without an upgrade names a path that is served by WebSocket only. */
export function isSocketPath({
  method,
  url = '',
}: Pick<IncomingMessage, 'method' | 'url'>): boolean {
  return (method === 'GET' || method === 'HEAD') && isSocketUrl(url);
}

interface OfferBase {
  readonly credentials: SentCredentials;
}

export type SocketOffer =
  | (OfferBase & { readonly api: 'openai'; readonly form: SettingsForm })
  | (OfferBase & { readonly api: 'gemini'; readonly version: string });

/**
 * `liveVersion` is the version of Gemini's API; null for OpenAI's.
 *
 * @throws GatewayError for a handshake that is not valid
 */
export function readOffer(
  request: IncomingMessage,
  header: ReadHeader,
  liveVersion: string | null,
): SocketOffer {
  const { headers, method } = request;
  const { 'sec-websocket-key': key = '', 'sec-websocket-version': version } = headers;
  if (method !== 'GET' || version !== '13' || !/^[+/0-9A-Za-z]{22}==$/.test(key)) {
    const message = 'The request is no valid handshake of WebSocket in version 13';
    throw new GatewayError('invalid_request', message, 'sec-websocket-key');
  }
  const protocols = offeredProtocols(headers['sec-websocket-protocol']);
  const sent = credentialsOf(request, header);
  if (liveVersion !== null) return { credentials: sent, api: 'gemini', version: liveVersion };
  const inProtocol = protocols.find((one) => one.startsWith(keyProtocol)) ?? null;
  const keyOf = inProtocol === null ? null : inProtocol.slice(keyProtocol.length);
  const isBeta =
    protocols.includes(betaProtocol) || /\brealtime=v1\b/.test(String(headers['openai-beta']));
  return {
    credentials: sent.key === null ? { key: keyOf, credential: null } : sent,
    api: 'openai',
    form: isBeta ? 'beta' : 'current',
  };
}

/** The subprotocol that is accepted, never one with a credential; null for none. */
export function acceptedProtocol(offered: Iterable<string>): string | null {
  return [...offered].find((one) => one === 'realtime') ?? null;
}

function offeredProtocols(header: string | undefined): readonly string[] {
  if (header === undefined) return [];
  const names = header.split(',').map((name) => name.trim());
  const isValid = names.every((name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name));
  if (isValid && new Set(names).size === names.length) return names;
  const message = 'The subprotocols must be different names, separated by commas';
  throw new GatewayError('invalid_request', message, 'sec-websocket-protocol');
}
