/** Fetches and caches the access token of a service account, and renews it before it expires. */
import type { Clock } from '../../clock.ts';
import type { Secret } from '../../secret.ts';
import { errorFields, Unreachable } from './refusal.ts';
import { isSettled, type RetryPolicy } from './retry-policy.ts';
import type { ServerResponse, Transport } from './transport.ts';

export interface ServiceAccount {
  /** Base URL of `/oauth2/access_token`. */
  readonly authUrl: string;
  readonly tsgId: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** Where the credentials come from, for messages: a file name. */
  readonly credentialsOrigin?: string;
}

const renewalMarginMs = 60_000;

interface Token {
  readonly value: string;
  readonly renewAt: number;
}

/** Shares one token, and one token request, among all callers. */
export class AccessToken {
  readonly #account: ServiceAccount;
  readonly #transport: Transport;
  readonly #repeats: RetryPolicy;
  readonly #clock: Clock;
  #token: Promise<Token> | null = null;

  constructor(account: ServiceAccount, transport: Transport, repeats: RetryPolicy, clock: Clock) {
    this.#account = account;
    this.#transport = transport;
    this.#repeats = repeats;
    this.#clock = clock;
  }

  /** @throws Unreachable when the credentials are refused or the server does not respond */
  async current(signal: AbortSignal | undefined): Promise<string> {
    const held = this.#token;
    if (held !== null) {
      const { value, renewAt } = await held;
      if (this.#clock.now() < renewAt) return value;
      if (this.#token === held) this.#token = null;
    }
    this.#token ??= this.#fetch(signal);
    const request = this.#token;
    try {
      return (await request).value;
    } catch (error) {
      if (this.#token === request) this.#token = null;
      throw error;
    }
  }

  /** Discards the token; the next request fetches a new one. */
  forget(): void {
    this.#token = null;
  }

  /** Describes for the user that the server rejects the credentials or the token. */
  refused(body: unknown): Unreachable {
    const { clientId, authUrl, tsgId, credentialsOrigin = 'the credentials' } = this.#account;
    const reason = errorFields(body, 401).message;
    return new Unreachable(
      `${authUrl} refuses client "${clientId}" for tenant ${tsgId}: ${reason}
Check clientId, clientSecret and tsgId in ${credentialsOrigin}.`,
      { reason: `${authUrl} refuses: ${reason}` },
    );
  }

  async #fetch(signal: AbortSignal | undefined): Promise<Token> {
    const { authUrl, clientId, clientSecret, tsgId } = this.#account;
    const basic = Buffer.from(`${clientId}:${clientSecret.reveal()}`).toString('base64');
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      scope: `tsg_id:${tsgId}`,
    });
    const headers = {
      authorization: `Basic ${basic}`,
      'content-type': 'application/x-www-form-urlencoded',
    };
    const url = new URL(`${authUrl.replace(/\/+$/, '')}/oauth2/access_token`);
    for (let tried = 1; ; tried += 1) {
      const outcome = await this.#transport.send(url, 'POST', headers, form.toString());
      if (isSettled(outcome)) return this.#tokenFrom(outcome);
      await this.#repeats.pauseAfter(tried, outcome, `POST ${url.pathname}`, signal);
    }
  }

  #tokenFrom(answer: ServerResponse): Token {
    const body = answer.body as { access_token?: unknown; expires_in?: unknown } | null;
    if (answer.status === 200 && typeof body?.access_token === 'string') {
      const lifeMs = typeof body.expires_in === 'number' ? body.expires_in * 1000 : 0;
      return { value: body.access_token, renewAt: this.#clock.now() + lifeMs - renewalMarginMs };
    }
    throw this.refused(answer.body);
  }
}
