/** Finds who opens a session: the owner of a key or token, or of the secret that stands for a key. */
import { authenticate, type CallerSources, requireUsableKey } from '../callers/authenticate.ts';
import type { ReadHeader } from '../callers/exchange.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import { type SessionSecrets, selectingHeaders } from '../callers/session-secrets.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { SocketOffer } from './socket-request.ts';

export interface SessionCaller {
  /** The model of the session; null for any that the key may use. */
  readonly model: string | null;
  /** Reads a header of the gateway; a secret keeps those that select a target, so that its holder selects none. */
  readonly header: ReadHeader;
  /** Finds and checks the key anew; a secret only has to be valid when the session is opened. */
  authenticate(now: number): Promise<GatewayKey>;
}

interface Sources {
  readonly services: CallerSources;
  readonly secrets: Pick<SessionSecrets, 'open' | 'keyOf'>;
}

/** @throws GatewayError for a secret that is not valid, or has expired */
export function callerOf(
  { services, secrets }: Sources,
  { credentials, api }: SocketOffer,
  header: ReadHeader,
  now: number,
): SessionCaller {
  const secret = credentials.key === null ? null : secrets.open(credentials.key, api, now);
  if (secret === null) {
    return {
      model: null,
      header,
      authenticate: async (at) => authenticate(services, credentials, at),
    };
  }
  return {
    model: secret.model,
    header: (name) =>
      selectingHeaders.includes(name) ? (secret.headers[name] ?? null) : header(name),
    authenticate: async (at) => requireUsableKey(await secrets.keyOf(secret), at),
  };
}

/** @throws GatewayError when the secret is for another model */
export function requireModelOf(
  model: string | null,
  { model: requested }: Readonly<Record<string, unknown>>,
): void {
  if (model === null || model === requested) return;
  const message = `The secret is for the model ${model}`;
  throw new GatewayError('model_not_allowed', message, 'model');
}
