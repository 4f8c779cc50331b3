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

/** Whether a request with an upgrade leads to a session; others are answered as requests without one. */
export function isSocketRequest({ url = '', headers }: IncomingMessage): boolean {
  return /\bwebsocket\b/i.test(headers.upgrade ?? '') && realtimePath.test(url);
}

/** Whether a request without an upgrade names a path that is served by WebSocket only. */
export function isSocketPath({
  method,
  url = '',
}: Pick<IncomingMessage, 'method' | 'url'>): boolean {
  return (method === 'GET' || method === 'HEAD') && realtimePath.test(url);
}

export interface SocketOffer {
  readonly credentials: SentCredentials;
  readonly form: SettingsForm;
}

/** @throws GatewayError for a handshake that is not valid */
export function readOffer(request: IncomingMessage, header: ReadHeader): SocketOffer {
  const { headers, method } = request;
  const { 'sec-websocket-key': key = '', 'sec-websocket-version': version } = headers;
  if (method !== 'GET' || version !== '13' || !/^[+/0-9A-Za-z]{22}==$/.test(key)) {
    const message = 'The request is no valid handshake of WebSocket in version 13';
    throw new GatewayError('invalid_request', message, 'sec-websocket-key');
  }
  const protocols = offeredProtocols(headers['sec-websocket-protocol']);
  const sent = credentialsOf(request, header);
  const inProtocol = protocols.find((one) => one.startsWith(keyProtocol)) ?? null;
  const keyOf = inProtocol === null ? null : inProtocol.slice(keyProtocol.length);
  const isBeta =
    protocols.includes(betaProtocol) || /\brealtime=v1\b/.test(String(headers['openai-beta']));
  return {
    credentials: sent.key === null ? { key: keyOf, credential: null } : sent,
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
