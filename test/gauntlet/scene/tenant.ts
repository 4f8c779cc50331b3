/** Calls the Admin API as the first service account of a tenant. */
import { exchange, type TestResponse } from '../../support/network/exchange.ts';

/** As `gatewright bootstrap --file -` prints it. */
export interface TenantCredentials {
  readonly tsgId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly organisationApiKey: string;
}

/** Tokens last 15 minutes. */
const tokenAgeMaxMs = 600_000;
const requestTimeoutMs = 30_000;

/** A response, or status 0 without one. */
export type AdminAnswer = Pick<TestResponse, 'status' | 'headers' | 'body'>;

const noAnswer: AdminAnswer = { status: 0, headers: {}, body: '' };

export class Tenant {
  readonly credentials: TenantCredentials;
  readonly #url: string;
  #token: { readonly value: string; readonly fromMs: number } | null = null;

  /** `url` is the address of the control planes. */
  constructor(credentials: TenantCredentials, url: string) {
    this.credentials = credentials;
    this.#url = url;
  }

  /** Sends one request; status 0 without an answer, also when no token can be had. */
  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<AdminAnswer> {
    try {
      const token = await this.#currentToken();
      if (typeof token !== 'string') return token;
      const sending = exchange(method, this.#url + path, body, {
        authorization: `Bearer ${token}`,
        ...headers,
      });
      return await Promise.race([sending, timeout()]);
    } catch {
      return noAnswer;
    }
  }

  /** @throws Error unless the answer is 200 */
  async require(method: string, path: string, body?: unknown): Promise<TestResponse['body']> {
    const answer = await this.send(method, path, body);
    if (answer.status === 200) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  /** The token, or the answer that refused one. */
  async #currentToken(): Promise<string | AdminAnswer> {
    const now = Date.now();
    if (this.#token !== null && now - this.#token.fromMs < tokenAgeMaxMs) return this.#token.value;
    const { clientId, clientSecret, tsgId } = this.credentials;
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
    const answer = await exchange(
      'POST',
      `${this.#url}/oauth2/access_token`,
      `grant_type=client_credentials&scope=tsg_id%3A${tsgId}`,
      {
        authorization: `Basic ${basic}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
    );
    if (answer.status !== 200) return answer;
    this.#token = { value: answer.body.access_token, fromMs: now };
    return this.#token.value;
  }
}

async function timeout(): Promise<AdminAnswer> {
  const { promise, resolve } = Promise.withResolvers<AdminAnswer>();
  setTimeout(() => resolve(noAnswer), requestTimeoutMs).unref();
  return promise;
}
