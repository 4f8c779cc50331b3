/**
 * Issues secrets by which browsers and apps open realtime sessions at this gateway until they expire. A secret is sealed,
 * so that any process opens it, and stands for an API key that it does not reveal.
 */
import type { TextSealer } from '../../auth/sealing.ts';
import { isObject } from '../../model/json/read-object.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { ReadHeader } from './exchange.ts';
import type { GatewayKey, GatewayKeys } from './gateway-key.ts';

/** Which API a secret is for. */
export type SecretApi = 'openai' | 'gemini';

/** The sessions that a secret permits. */
export interface SessionSecret {
  readonly api: SecretApi;
  readonly organisationId: string;
  readonly keyId: string;
  /** Milliseconds since the epoch, from which on it opens no session. */
  readonly expiresAtMs: number;
  /** The model of every session; null for any that the key may use. */
  readonly model: string | null;
  /** Headers of the gateway with which the secret was requested, which its sessions use. */
  readonly headers: Readonly<Record<string, string>>;
}

const prefixes: Readonly<Record<SecretApi, string>> = { openai: 'ek_', gemini: 'auth_tokens/' };
const place = 'session-secret';
/** Headers of the gateway that select a target; browsers can send none. */
export const selectingHeaders: readonly string[] = [
  'config',
  'provider',
  'virtual-key',
  'metadata',
];
const headerCharsMax = 2_048;

export class SessionSecrets {
  readonly #sealer: Pick<TextSealer, 'seal' | 'open'>;
  readonly #keys: Pick<GatewayKeys, 'findById'>;

  constructor(sealer: Pick<TextSealer, 'seal' | 'open'>, keys: Pick<GatewayKeys, 'findById'>) {
    this.#sealer = sealer;
    this.#keys = keys;
  }

  /** @throws GatewayError for a caller that no secret can stand for */
  issue(
    key: GatewayKey,
    header: ReadHeader,
    { api, expiresAtMs, model }: Pick<SessionSecret, 'api' | 'expiresAtMs' | 'model'>,
  ): string {
    if (key.kind === 'token') {
      const message =
        'Request the secret with an API key: a token expires by itself, so send the token';
      throw new GatewayError('invalid_request', message);
    }
    const { organisationId, id: keyId } = key;
    const headers = selectingHeadersOf(header);
    const secret = { api, organisationId, keyId, expiresAtMs, model, headers };
    return prefixes[api] + this.#sealer.seal(JSON.stringify(secret), place);
  }

  /** Null for a credential of another kind. @throws GatewayError for a secret that is not valid, or expired */
  open(credential: string, api: SecretApi, now: number): SessionSecret | null {
    const prefix = prefixes[api];
    if (!credential.startsWith(`${prefix}v1.`)) return null;
    const text = this.#sealer.open(credential.slice(prefix.length), place);
    const secret: unknown = text === null ? null : JSON.parse(text);
    if (!isObject(secret) || secret.api !== api) {
      throw new GatewayError('invalid_api_key', 'The secret is not valid at this gateway');
    }
    const opened = secret as unknown as SessionSecret;
    if (opened.expiresAtMs > now) return opened;
    throw new GatewayError('api_key_expired', 'The secret has expired; request another one');
  }

  /** The key that the secret stands for, as it is now; undefined when it is gone. */
  keyOf({ organisationId, keyId }: SessionSecret): Promise<GatewayKey | undefined> {
    return this.#keys.findById(organisationId, keyId);
  }
}

function selectingHeadersOf(header: ReadHeader): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of selectingHeaders) {
    const value = header(name);
    if (value !== null) headers[name] = value;
  }
  if (JSON.stringify(headers).length <= headerCharsMax) return headers;
  const message = `The headers of the gateway have more than ${headerCharsMax} characters, which a secret cannot keep; save the config`;
  throw new GatewayError('invalid_request', message);
}
