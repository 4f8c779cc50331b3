/** Obtains the token for requests to a Vault, and renews it in the second half of its lifetime. */
import type { Clock } from '../clock.ts';
import { Failure } from '../failure.ts';
import { Secret } from '../secret.ts';
import { readCredential, type VaultLogin } from './vault-access.ts';
import type { VaultRequest, VaultResponse } from './vault-exchange.ts';

/** Sends a request with or without a token. */
type Send = (request: VaultRequest, token: Secret | null) => Promise<VaultResponse>;

/** A newer token that Vault rejects lacks a permission; another login would not help. */
const loginIntervalMs = 30_000;

interface CurrentToken {
  readonly token: Secret;
  readonly since: number;
  /** Time of the renewal; null for a token that does not expire or cannot be renewed. */
  readonly renewAt: number | null;
}

export class VaultToken {
  readonly #login: VaultLogin;
  readonly #clock: Clock;
  readonly #send: Send;
  #current: CurrentToken | null = null;
  /** Concurrent callers share one login. */
  #pending: Promise<CurrentToken> | null = null;

  constructor(login: VaultLogin, clock: Clock, send: Send) {
    this.#login = login;
    this.#clock = clock;
    this.#send = send;
  }

  /** @throws Failure when a file cannot be read, or Vault rejects the credential in it */
  async current(): Promise<Secret> {
    const current = this.#current;
    if (current === null || this.#isReplaced(current))
      return (await this.#once(() => this.#logIn())).token;
    if (current.renewAt === null || this.#clock.now() < current.renewAt) return current.token;
    return (await this.#once(() => this.#renew(current))).token;
  }

  /** Returns a new token after Vault has rejected one; null when there is none. */
  async replacementOf(rejected: Secret): Promise<Secret | null> {
    if (this.#current?.token === rejected) {
      const isFile = this.#login.method === 'token';
      const isNew = this.#clock.now() < this.#current.since + loginIntervalMs;
      if (isFile ? !this.#isReplaced(this.#current) : isNew) return null;
      await this.#once(() => this.#logIn());
    }
    const { token } = this.#current!;
    return token === rejected ? null : token;
  }

  async #once(work: () => Promise<CurrentToken>): Promise<CurrentToken> {
    this.#pending ??= work().finally(() => {
      this.#pending = null;
    });
    this.#current = await this.#pending;
    return this.#current;
  }

  /** Whether an agent has written another token to the file. */
  #isReplaced({ token }: CurrentToken): boolean {
    return this.#login.method === 'token' && this.#read().reveal() !== token.reveal();
  }

  #read(): Secret {
    const { method } = this.#login;
    if (method === 'token')
      return readCredential(this.#login.tokenFile, 'GATEWRIGHT_VAULT_TOKEN_FILE');
    return method === 'kubernetes'
      ? readCredential(this.#login.tokenFile, 'GATEWRIGHT_VAULT_KUBERNETES_TOKEN_FILE')
      : readCredential(this.#login.secretIdFile, 'GATEWRIGHT_VAULT_SECRET_ID_FILE');
  }

  async #logIn(): Promise<CurrentToken> {
    const login = this.#login;
    const credential = this.#read();
    if (login.method === 'token') {
      const path = 'auth/token/lookup-self';
      const { status, body } = await this.#send({ method: 'GET', path }, credential);
      // A token may lack the right to look itself up and still be valid.
      const { data } = (body ?? {}) as { readonly data?: Lease };
      return this.#currentFrom(credential, status === 200 ? data : undefined);
    }
    const body =
      login.method === 'kubernetes'
        ? { role: login.role, jwt: credential.reveal() }
        : { role_id: login.roleId, secret_id: credential.reveal() };
    const path = `auth/${login.mount}/login`;
    const response = await this.#send({ method: 'POST', path, body }, null);
    const { auth } = (response.body ?? {}) as { readonly auth?: Lease };
    if (response.status === 200 && typeof auth?.client_token === 'string') {
      return this.#currentFrom(new Secret(auth.client_token, `vault:auth/${login.mount}`), auth);
    }
    // The message of Vault might quote the credential.
    throw new Failure(
      'unreachable',
      `Vault does not accept the sign-in at auth/${login.mount} (${response.status}); see ${credential.origin}`,
    );
  }

  /** Logs in again when the renewal fails; a token from a file is used until it expires. */
  async #renew({ token, since }: CurrentToken): Promise<CurrentToken> {
    const path = 'auth/token/renew-self';
    const { status, body } = await this.#send({ method: 'POST', path, body: {} }, token);
    const { auth } = (body ?? {}) as { readonly auth?: Lease };
    if (status === 200) return this.#currentFrom(token, auth);
    return this.#login.method === 'token' ? { token, since, renewAt: null } : await this.#logIn();
  }

  #currentFrom(token: Secret, lease: Lease | undefined): CurrentToken {
    const since = this.#clock.now();
    const seconds = lease?.lease_duration ?? lease?.ttl ?? 0;
    const renewAt = seconds > 0 ? since + seconds * 500 : null;
    const isFixed = this.#login.method === 'token' && lease?.renewable !== true;
    return { token, since, renewAt: isFixed ? null : renewAt };
  }
}

/** Vault's description of a token; times in seconds. */
interface Lease {
  readonly client_token?: string;
  readonly lease_duration?: number;
  readonly ttl?: number;
  readonly renewable?: boolean;
}
