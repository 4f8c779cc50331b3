/** Knows one inference request as the stages pass it on: who asks, what for, and what was found out on the way. */
import type { IncomingMessage } from 'node:http';
import type { Secret } from '../../secret.ts';
import type { StreamedRequestBody } from '../../upstream/call.ts';
import { GatewayError, type GatewayErrorForm } from '../transfer/gateway-error.ts';
import type { GatewayKey } from './gateway-key.ts';

export interface Exchange {
  /** Trace id; of the caller where it sends a sane one. */
  readonly id: string;
  readonly request: Pick<IncomingMessage, 'method' | 'headers'>;
  readonly header: ReadHeader;
  /** Of headers of ours in the answer: `x-gateway-`, or the alias that the caller uses. */
  readonly headerPrefix: string;
  /** Behind `/v1`, without the query: `/chat/completions`. */
  readonly path: string;
  /** With its question mark, or ''. */
  readonly query: string;
  readonly errorForm: GatewayErrorForm;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly key: GatewayKey;
  /** The value of the key, which no provider is to see. */
  readonly sentKey: Secret;
  /** For the provider, where the gateway key came by a header of its own. */
  readonly credential: string | null;
  /** As it came; null for none. */
  readonly body: Buffer | null;
  /** What a JSON body says; empty for any other. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly isJson: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** A file on its way, of which nothing is read; left out for any other request. */
  readonly unread?: IncomingMessage | undefined;
  /** One that goes to a provider as it comes. */
  readonly passing?: StreamedRequestBody;
  /** Of a request for a response that the gateway may come to keep. */
  readonly begun?: BegunResponse;
  /** Of a request for an object that a provider is to keep: its answer is waited for when the caller has gone. */
  readonly making?: { /** Null for one that carries none. */ readonly mark: string | null };
}

/** What of it says where a call goes. */
export type TargetRequest = Pick<
  Exchange,
  | 'request'
  | 'path'
  | 'query'
  | 'now'
  | 'sentKey'
  | 'credential'
  | 'body'
  | 'params'
  | 'isJson'
  | 'begun'
  | 'making'
  | 'passing'
> & { readonly key: Pick<GatewayKey, 'organisationId' | 'workspace'> };

interface BegunResponse {
  /** Its id, where the gateway keeps it. */
  readonly id: string;
  /** It goes on from one that the gateway keeps, of which a provider knows nothing. */
  readonly isContinued: boolean;
}

/** A header of ours by its name behind the prefix, under whichever prefix it came; null for none. */
export type ReadHeader = (name: string) => string | null;

const none: ReadHeader = () => null;

/** `prefixes` in lower case, ours first. */
export function ownHeaders(
  { headers }: Pick<IncomingMessage, 'headers'>,
  prefixes: readonly string[],
): ReadHeader {
  // Most requests have none, and are asked for a dozen.
  if (!hasAny(headers, prefixes)) return none;
  return (name) => {
    for (const prefix of prefixes) {
      const value = headers[prefix + name];
      if (typeof value === 'string' && value !== '') return value;
    }
    return null;
  };
}

/** What is wrong with headers of ours that say different things under two prefixes; null where none do. */
export function aliasFault(
  { headers }: Pick<IncomingMessage, 'headers'>,
  prefixes: readonly string[],
): GatewayError | null {
  if (prefixes.length === 1) return null;
  for (const one in headers) {
    for (const prefix of prefixes) {
      if (!one.startsWith(prefix)) continue;
      const names = prefixes.map((other) => other + one.slice(prefix.length));
      const other = names.find((name) => isSaid(headers[name]) && headers[name] !== headers[one]);
      if (other === undefined || !isSaid(headers[one])) continue;
      const message = `${one} and ${other} say different things: send one of them`;
      return new GatewayError('invalid_request', message, one);
    }
  }
  return null;
}

function isSaid(value: string | string[] | undefined): boolean {
  return value !== undefined && value !== '';
}

function hasAny(headers: IncomingMessage['headers'], prefixes: readonly string[]): boolean {
  for (const name in headers) {
    for (const prefix of prefixes) if (name.startsWith(prefix)) return true;
  }
  return false;
}
