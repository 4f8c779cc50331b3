/** Defines one inference request in flight with what has been resolved for it. */
import type { IncomingMessage } from 'node:http';
import type { Secret } from '../../secret.ts';
import type { StreamedRequestBody } from '../../upstream/call.ts';
import { GatewayError, type GatewayErrorForm } from '../transfer/gateway-error.ts';
import type { GatewayKey } from './gateway-key.ts';

export interface Exchange {
  /** Trace id, chosen by the caller if it sends a valid one. */
  readonly id: string;
  readonly request: Pick<IncomingMessage, 'method' | 'headers'>;
  readonly header: ReadHeader;
  /** Prefix of the gateway's response headers: `x-gateway-`, or the alias that the caller uses. */
  readonly headerPrefix: string;
  /** Path below `/v1`, without the query: `/chat/completions`. */
  readonly path: string;
  /** Includes the question mark; '' for none. */
  readonly query: string;
  readonly errorForm: GatewayErrorForm;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly key: GatewayKey;
  /** The value of the key, which must not reach any provider. */
  readonly sentKey: Secret;
  /** The caller's credential for the provider; null for none. */
  readonly credential: string | null;
  /** The bytes as received; null for none. */
  readonly body: Buffer | null;
  /** The members of a JSON body; empty for any other body. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly isJson: boolean;
  /** Whether `body` and `params` already contain the parameters of the called target. */
  readonly hasConfigParams?: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** An upload whose body has not been read; absent for other requests. */
  readonly unreadUpload?: IncomingMessage | undefined;
  /** An upload that is streamed to the provider. */
  readonly streamedBody?: StreamedRequestBody;
  /** Set when the request creates a response that the gateway may store. */
  readonly newResponse?: NewResponseRef;
  /** Set when the request creates an object whose outcome must be known even if the caller disconnects. */
  readonly trackedCreation?: {
    /** Null for kinds that carry no mark. */
    readonly mark: string | null;
  };
}

/** The parts of an exchange that determine the call to a provider. */
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
  | 'hasConfigParams'
  | 'newResponse'
  | 'trackedCreation'
  | 'streamedBody'
> & { readonly key: Pick<GatewayKey, 'organisationId' | 'workspace'> };

interface NewResponseRef {
  /** Id of the response if the gateway stores it. */
  readonly id: string;
  /** Whether it continues a response or conversation that only the gateway has. */
  readonly isContinued: boolean;
  /** The conversation of the gateway that it continues; null for none. */
  readonly conversationId: string | null;
}

/** Reads a gateway header by its name without the prefix; null for none. */
export type ReadHeader = (name: string) => string | null;

const none: ReadHeader = () => null;

/** `prefixes` in lower case, the gateway's own first. */
export function ownHeaders(
  { headers }: Pick<IncomingMessage, 'headers'>,
  prefixes: readonly string[],
): ReadHeader {
  // Most requests have no such header, although a dozen are looked up.
  if (!hasAny(headers, prefixes)) return none;
  return (name) => {
    for (const prefix of prefixes) {
      const value = headers[prefix + name];
      if (typeof value === 'string' && value !== '') return value;
    }
    return null;
  };
}

/** Returns the fault when the same header has different values under two prefixes; null for none. */
export function aliasFault(
  { headers }: Pick<IncomingMessage, 'headers'>,
  prefixes: readonly string[],
): GatewayError | null {
  if (prefixes.length === 1) return null;
  for (const one in headers) {
    for (const prefix of prefixes) {
      if (!one.startsWith(prefix)) continue;
      const names = prefixes.map((other) => other + one.slice(prefix.length));
      const other = names.find(
        (name) => isPresent(headers[name]) && headers[name] !== headers[one],
      );
      if (other === undefined || !isPresent(headers[one])) continue;
      const message = `${one} and ${other} have different values; send only one of them`;
      return new GatewayError('invalid_request', message, one);
    }
  }
  return null;
}

function isPresent(value: string | string[] | undefined): boolean {
  return value !== undefined && value !== '';
}

function hasAny(headers: IncomingMessage['headers'], prefixes: readonly string[]): boolean {
  for (const name in headers) {
    for (const prefix of prefixes) if (name.startsWith(prefix)) return true;
  }
  return false;
}

/** Whether the caller's client uses the format of Anthropic, whatever the path. */
export function isAnthropicCaller({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['anthropic-version'] !== undefined;
}
