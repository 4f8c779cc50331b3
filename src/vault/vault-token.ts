/** Knows by which token a Vault is asked: read or signed in for, renewed in the second half of its life. */
import type { Clock } from '../clock.ts';
import { Failure } from '../failure.ts';
import { Secret } from '../secret.ts';
import { readCredential, type VaultLogin } from './vault-access.ts';
import type { VaultResponse, VaultRequest } from './vault-exchange.ts';

/** Asks Vault, by a token or by none. */
type Ask = (request: VaultRequest, token: Secret | null) => Promise<VaultResponse>;

/** A token that was signed in for just now is refused for what it may not do. */
const signInAgainMs = 30_000;

interface Held {
  readonly token: Secret;
  readonly since: number;
  /** From when on it is renewed; null for one that does not end or cannot be renewed. */
  readonly renewAt: number | null;
}

export class VaultToken {
  readonly #login: VaultLogin;
  readonly #clock: Clock;
  readonly #ask: Ask;
  #held: Held | null = null;
  /** Many ask at once; one of them signs in. */
  #pending: Promise<Held> | null = null;

  constructor(login: VaultLogin, clock: Clock, ask: Ask) {
    this.#login = login;
    this.#clock = clock;
    this.#ask = ask;
  }

  /** @throws Failure when a file cannot be read, or Vault does not accept what is in it */
  async current(): Promise<Secret> {
    const held = this.#held;
    if (held === null || this.#isReplaced(held))
      return (await this.#once(() => this.#signIn())).token;
    if (held.renewAt === null || this.#clock.now() < held.renewAt) return held.token;
    return (await this.#once(() => this.#renew(held))).token;
  }

  /** Another token after Vault has refused one; null where there is no other. */
  async replacementOf(refused: Secret): Promise<Secret | null> {
    if (this.#held?.token === refused) {
      const isFile = this.#login.method === 'token';
      const isNew = this.#clock.now() < this.#held.since + signInAgainMs;
      if (isFile ? !this.#isReplaced(this.#held) : isNew) return null;
      await this.#once(() => this.#signIn());
    }
    const { token } = this.#held!;
    return token === refused ? null : token;
  }

  async #once(work: () => Promise<Held>): Promise<Held> {
    this.#pending ??= work().finally(() => {
      this.#pending = null;
    });
    this.#held = await this.#pending;
    return this.#held;
  }

  /** An agent has put another one into the file. */
  #isReplaced({ token }: Held): boolean {
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

  async #signIn(): Promise<Held> {
    const login = this.#login;
    const credential = this.#read();
    if (login.method === 'token') {
      const path = 'auth/token/lookup-self';
      const { status, body } = await this.#ask({ method: 'GET', path }, credential);
      // Whoever may not look at itself may yet do the rest.
      const { data } = (body ?? {}) as { readonly data?: Lease };
      return this.#holding(credential, status === 200 ? data : undefined);
    }
    const body =
      login.method === 'kubernetes'
        ? { role: login.role, jwt: credential.reveal() }
        : { role_id: login.roleId, secret_id: credential.reveal() };
    const path = `auth/${login.mount}/login`;
    const answer = await this.#ask({ method: 'POST', path, body }, null);
    const { auth } = (answer.body ?? {}) as { readonly auth?: Lease };
    if (answer.status === 200 && typeof auth?.client_token === 'string') {
      return this.#holding(new Secret(auth.client_token, `vault:auth/${login.mount}`), auth);
    }
    // Its own words might quote what was sent.
    throw new Failure(
      'unreachable',
      `Vault does not accept the sign-in at auth/${login.mount} (${answer.status}); see ${credential.origin}`,
    );
  }

  /** One that cannot be renewed is signed in for again, or used for as long as it counts. */
  async #renew({ token, since }: Held): Promise<Held> {
    const path = 'auth/token/renew-self';
    const { status, body } = await this.#ask({ method: 'POST', path, body: {} }, token);
    const { auth } = (body ?? {}) as { readonly auth?: Lease };
    if (status === 200) return this.#holding(token, auth);
    return this.#login.method === 'token' ? { token, since, renewAt: null } : await this.#signIn();
  }

  #holding(token: Secret, lease: Lease | undefined): Held {
    const since = this.#clock.now();
    const seconds = lease?.lease_duration ?? lease?.ttl ?? 0;
    const renewAt = seconds > 0 ? since + seconds * 500 : null;
    const isKept = this.#login.method === 'token' && lease?.renewable !== true;
    return { token, since, renewAt: isKept ? null : renewAt };
  }
}

/** What Vault says of a token; times in seconds. */
interface Lease {
  readonly client_token?: string;
  readonly lease_duration?: number;
  readonly ttl?: number;
  readonly renewable?: boolean;
}
