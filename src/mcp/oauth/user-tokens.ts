/** Returns the access token of a user for an MCP server, refreshed where it is necessary. */
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { connectionContext } from '../../auth/mcp-secrets.ts';
import { monotonicMs } from '../../monotonic.ts';
import { Secret } from '../../secret.ts';
import * as mcpConnections from '../../store/mcp/mcp-connections.ts';
import { OAuthFault } from './oauth-fault.ts';
import type { OAuthGrant } from './oauth-grant.ts';
import type { OAuthParts, OAuthServer } from './oauth-server.ts';
import { refreshMs, TokenRefresher, unanswered } from './token-refresher.ts';

/** The tokens of one user for one server. */
interface UserToken {
  readonly row: mcpConnections.StoredMcpConnection;
  readonly grant: OAuthGrant | null;
  readonly token: Secret;
  readonly readAtMs: number;
}

type RefreshableToken = UserToken & { readonly grant: OAuthGrant };

/** Changes by other processes are seen after this time. */
const cachedMs = 1_000;
const tokensMax = 10_000;
/** A token is refreshed this long before it expires, or after nine tenths of a shorter life. */
const marginMs = 60_000;
const pollMs = 50;
/** A token is new for this long. */
const newMs = 10_000;

export class UserTokens {
  readonly #parts: OAuthParts;
  readonly #refresher: TokenRefresher;
  readonly #known = new LRUCache<string, UserToken>({ max: tokensMax });
  readonly #pending = new Map<string, Promise<Secret | null>>();

  constructor(parts: OAuthParts) {
    this.#parts = parts;
    this.#refresher = new TokenRefresher(parts);
  }

  /**
   * Null when the user has not authorized the gateway, or its tokens are of no use any more. Concurrent calls share
   * one request.
   *
   * @param refused a token that the server does not accept and that is not returned again
   * @throws OAuthFault when the token has expired and the authorization server does not answer
   */
  token(
    server: OAuthServer,
    userId: string,
    refused: Secret | null,
  ): Secret | null | Promise<Secret | null> {
    const id = `${server.id} ${userId}`;
    const held = this.#known.get(id);
    const isUsable = held !== undefined && this.#isUsable(held, refused);
    if (isUsable && monotonicMs() - held.readAtMs < cachedMs && isFor(server, held))
      return held.token;
    const pending = this.#pending.get(id);
    if (pending !== undefined && refused === null) return pending;
    const finding = this.#find(server, userId, refused).finally(() => {
      if (this.#pending.get(id) === finding) this.#pending.delete(id);
    });
    this.#pending.set(id, finding);
    return finding;
  }

  async #find(server: OAuthServer, userId: string, refused: Secret | null): Promise<Secret | null> {
    const { organisationId: organisation_id, id: mcp_server_id } = server;
    const key = { organisation_id, mcp_server_id, user_id: userId };
    const endsAtMs = monotonicMs() + refreshMs;
    for (;;) {
      const held = await this.#read(key);
      if (held === null || !isFor(server, held)) return null;
      if (this.#isUsable(held, refused)) return held.token;
      // A token that is still valid serves while it cannot be refreshed.
      const spare = this.#hasExpired(held) || isSame(held.token, refused) ? null : held.token;
      if (!this.#canRefresh(held, refused)) return spare;
      if (this.#isPaused(held)) {
        if (spare === null) throw unanswered(held.grant);
        return spare;
      }
      const isRefreshed = await this.#refresher.refresh(server, held).catch((error: unknown) => {
        if (spare === null || !(error instanceof OAuthFault)) throw error;
        return false;
      });
      if (isRefreshed) continue;
      if (spare !== null) return spare;
      if (monotonicMs() > endsAtMs) throw unanswered(held.grant);
      await delay(pollMs);
    }
  }

  /** A server that does not accept a token that was just issued does not accept another one either. */
  #canRefresh(held: UserToken, refused: Secret | null): held is RefreshableToken {
    const { row, grant, token } = held;
    if (row.refresh_token === null || grant === null) return false;
    return !isSame(token, refused) || row.last_updated_at < this.#parts.now() - newMs;
  }

  /** Whether the authorization server has just failed to answer. */
  #isPaused({ row }: UserToken): boolean {
    const { refresh_claim: claim, refresh_claimed_until: until } = row;
    return claim === null && until !== null && until >= this.#parts.now();
  }

  #isUsable({ row, token }: UserToken, refused: Secret | null): boolean {
    if (isSame(token, refused)) return false;
    const { expires_at: expiresAt, last_updated_at: issuedAt } = row;
    if (expiresAt === null) return true;
    const margin = Math.min(marginMs, (expiresAt - issuedAt) / 10);
    return this.#parts.now() < expiresAt - margin;
  }

  #hasExpired({ row }: UserToken): boolean {
    return row.expires_at !== null && row.expires_at <= this.#parts.now();
  }

  async #read(key: mcpConnections.ConnectionKey): Promise<UserToken | null> {
    const id = `${key.mcp_server_id} ${key.user_id}`;
    const { database } = this.#parts;
    const readAtMs = monotonicMs();
    const row = await mcpConnections.find(database.readable, key);
    if (row === undefined) {
      this.#known.delete(id);
      return null;
    }
    const before = this.#known.get(id);
    const isKnown = before?.row.access_token === row.access_token;
    const held = isKnown ? { ...before, row, readAtMs } : await this.#open(row, readAtMs);
    this.#known.set(id, held);
    return held;
  }

  async #open(row: mcpConnections.StoredMcpConnection, readAtMs: number): Promise<UserToken> {
    const unsealer = await this.#parts.keyring.unsealerOf(row.organisation_id);
    const text = unsealer.unseal(row.access_token, connectionContext(row, 'access_token'));
    const grant = row.oauth_grant === null ? null : (JSON.parse(row.oauth_grant) as OAuthGrant);
    return { row, grant, token: new Secret(text, 'a token of a user'), readAtMs };
  }
}

/** Tokens are sent to the server they were granted for only, even while a change of its address is not seen yet. */
function isFor({ url }: OAuthServer, { grant }: UserToken): boolean {
  return grant === null || new URL(grant.resource).origin === url.origin;
}

function isSame(token: Secret, other: Secret | null): boolean {
  return other !== null && other.reveal() === token.reveal();
}
