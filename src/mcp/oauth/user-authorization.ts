/** Authorizes the calls of one request with the tokens of its user, or says where the user connects an account. */
import { setTimeout as delay } from 'node:timers/promises';
import type { GatewayKey } from '../../gateway/callers/gateway-key.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { Secret } from '../../secret.ts';
import type { Call } from '../../upstream/call.ts';
import { PlaneFault, serverUnusable } from '../messages/plane-fault.ts';
import { readBearerChallenge } from './challenge.ts';
import { type AskingRequest, connectFault } from './connect-question.ts';
import { OAuthFault } from './oauth-fault.ts';
import type { OAuthServer } from './oauth-server.ts';
import type { UserTokens } from './user-tokens.ts';

export interface UserAuthorizationOptions {
  readonly tokens: UserTokens;
  readonly server: OAuthServer;
  readonly key: Pick<GatewayKey, 'id' | 'kind' | 'personId'>;
  /** Where the user connects an account; null when the address of the gateway is not configured. */
  readonly connectUrl: (scope: string | null) => string | null;
}

/** How long a call waits for a user who has opened the address. */
const waitMs = 120_000;
const pollMs = 250;

export class UserAuthorization {
  readonly #options: UserAuthorizationOptions;
  #asking: AskingRequest = { era: 'legacy', message: null, version: null, isAccepted: null };

  constructor(options: UserAuthorizationOptions) {
    this.#options = options;
  }

  /** Notes the request, which determines the form of the fault. */
  noteRequest(asking: AskingRequest): void {
    this.#asking = asking;
  }

  /**
   * @param refused a token that the server does not accept
   * @throws PlaneFault when the user has no usable connection
   */
  async token(refused: Secret | null): Promise<Secret> {
    const token = await this.#find(refused);
    if (token === null) throw this.#required(null);
    return token;
  }

  /**
   * Waits for a user who has opened the address.
   *
   * @throws PlaneFault when the user has no usable connection
   */
  async require(isGone: () => boolean): Promise<void> {
    if (this.#asking.isAccepted === true) await this.#waitForUser(isGone);
    await this.token(null);
  }

  async #waitForUser(isGone: () => boolean): Promise<void> {
    const endsAtMs = monotonicMs() + waitMs;
    while (!isGone() && monotonicMs() < endsAtMs && (await this.#find(null)) === null) {
      await delay(pollMs);
    }
  }

  /** The fault of a response that demands another token, or a scope that it lacks; null for any other response. */
  faultOf({ status, headers }: Pick<Call, 'status' | 'headers'>): PlaneFault | null {
    if (status === 401) return this.#required(null);
    if (status !== 403) return null;
    const { error, scope } = readBearerChallenge(headers['www-authenticate']);
    return error === 'insufficient_scope' ? this.#required(scope) : null;
  }

  async #find(refused: Secret | null): Promise<Secret | null> {
    const { tokens, server, key } = this.#options;
    try {
      return await tokens.token(server, key.personId ?? key.id, refused);
    } catch (error) {
      if (!(error instanceof OAuthFault)) throw error;
      throw serverUnusable(error.message, { cause: error });
    }
  }

  #required(scope: string | null): PlaneFault {
    const { server, key, connectUrl } = this.#options;
    const { slug } = server;
    if (key.personId === null) {
      const own = key.kind === 'token' ? 'This token names no user' : 'This key belongs to no user';
      const message = `${own}, and the MCP server ${slug} needs the account of one; use a key of a user`;
      return new PlaneFault('user_required', message);
    }
    const url = connectUrl(scope);
    if (url !== null) return connectFault(url, slug, this.#asking);
    const message = `The MCP server ${slug} needs an account of the user, which is connected at an address of the gateway; set GATEWRIGHT_MCP_URL`;
    return new PlaneFault('server_unusable', message);
  }
}
