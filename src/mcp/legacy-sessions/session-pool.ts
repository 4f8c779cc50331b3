/** Opens sessions of legacy servers for callers, keeps a few idle ones of each caller for a short time, and bounds all. */
import { hash } from 'node:crypto';
import { detach } from '../../detached.ts';
import { GatewayError } from '../../gateway/transfer/gateway-error.ts';
import type { ServerConnections } from '../event-transport/call-mcp-server.ts';
import type { LegacyClient } from '../messages/legacy-request.ts';
import type { ServerSession } from './legacy-session.ts';
import { type LegacyServer, LegacyTransport } from './legacy-transport.ts';
import { openLegacySession } from './open-legacy-session.ts';

/** The caller that uses a session, and the server. */
export interface SessionUser {
  /** The caller and the server that it calls. Sessions are never shared by two of them. */
  readonly principal: string;
  readonly server: LegacyServer;
  readonly client: LegacyClient;
}

/** A session that one call uses. */
export interface LeasedSession {
  readonly session: ServerSession;
  /** Whether an earlier call has used it, so that the server may have ended it. */
  readonly isReused: boolean;
  /** Makes the session available to the next call of the same caller. */
  giveBack(): void;
  end(): Promise<void>;
}

export interface SessionPoolOptions {
  readonly connections: ServerConnections;
  readonly sessionsMax: number;
  readonly sessionsOfCallerMax: number;
  readonly idleMs: number;
  readonly idleOfCallerMax: number;
}

interface OpenSession {
  readonly session: ServerSession;
  readonly principal: string;
  readonly key: string;
  /** Ends an idle session; null while a call uses it. */
  timer: NodeJS.Timeout | null;
}

export class SessionPool implements AsyncDisposable {
  readonly #options: SessionPoolOptions;
  readonly #open = new Set<OpenSession>();
  /** Sessions that are being opened. */
  readonly #opening = new Map<string, number>();
  /** The oldest first. */
  readonly #idle = new Set<OpenSession>();
  readonly #ending = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: SessionPoolOptions) {
    this.#options = options;
  }

  /** Number of open sessions, idle ones included. */
  get size(): number {
    return this.#open.size;
  }

  /** Returns the idle session that was used last, or opens one. @throws GatewayError @throws PlaneFault */
  async lease(user: SessionUser, wantsFresh = false): Promise<LeasedSession> {
    const key = keyOf(user);
    const idle = wantsFresh ? undefined : [...this.#idle].findLast((one) => one.key === key);
    if (idle !== undefined) {
      this.#unidle(idle);
      return this.#leased(idle, true);
    }
    const { principal, server, client } = user;
    this.#makeRoom(principal);
    this.#opening.set(principal, (this.#opening.get(principal) ?? 0) + 1);
    try {
      const transport = new LegacyTransport(this.#options.connections, server, principal);
      const session = await openLegacySession(transport, client);
      const opened: OpenSession = { session, principal, key, timer: null };
      this.#open.add(opened);
      return this.#leased(opened, false);
    } finally {
      const left = this.#opening.get(principal)! - 1;
      if (left > 0) this.#opening.set(principal, left);
      else this.#opening.delete(principal);
    }
  }

  /** Ends all sessions. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const one of this.#open) this.#endDetached(one);
    await Promise.all(this.#ending);
  }

  #leased(open: OpenSession, isReused: boolean): LeasedSession {
    return {
      session: open.session,
      isReused,
      giveBack: () => this.#giveBack(open),
      end: () => this.#end(open),
    };
  }

  #giveBack(open: OpenSession): void {
    const { idleMs, idleOfCallerMax } = this.#options;
    const own = [...this.#idle].filter(({ principal }) => principal === open.principal);
    if (this.#isClosed || open.session.hasEnded) {
      this.#endDetached(open);
      return;
    }
    if (own.length >= idleOfCallerMax) this.#endDetached(own[0]!);
    open.timer = setTimeout(() => this.#endDetached(open), idleMs).unref();
    this.#idle.add(open);
  }

  /** Ends the oldest idle session where a bound is reached. */
  #makeRoom(principal: string): void {
    const { sessionsMax, sessionsOfCallerMax } = this.#options;
    const isOwn = (one: OpenSession): boolean => one.principal === principal;
    const opening = [...this.#opening.values()].reduce((sum, count) => sum + count, 0);
    const ownCount = [...this.#open].filter(isOwn).length + (this.#opening.get(principal) ?? 0);
    if (ownCount >= sessionsOfCallerMax) this.#endOldest(isOwn);
    else if (this.#open.size + opening >= sessionsMax) this.#endOldest(() => true);
  }

  #endOldest(isWanted: (one: OpenSession) => boolean): void {
    const oldest = [...this.#idle].find(isWanted);
    if (oldest === undefined) {
      const message = 'The gateway has reached its limit of sessions with MCP servers; try again';
      throw new GatewayError('unavailable', message);
    }
    this.#endDetached(oldest);
  }

  #unidle(open: OpenSession): void {
    this.#idle.delete(open);
    if (open.timer !== null) clearTimeout(open.timer);
    open.timer = null;
  }

  #endDetached(open: OpenSession): void {
    detach('the end of a session of an MCP server', this.#end(open));
  }

  async #end(open: OpenSession): Promise<void> {
    this.#unidle(open);
    this.#open.delete(open);
    const ending = open.session.end();
    this.#ending.add(ending);
    await ending;
    this.#ending.delete(ending);
  }
}

/** Sessions are equal where the server sees the same address, headers and client. */
function keyOf({ principal, server, client }: SessionUser): string {
  const headers = Object.entries(server.headers).toSorted(([one], [other]) =>
    one < other ? -1 : 1,
  );
  const { capabilities, info, logLevel } = client;
  return hash(
    'sha256',
    JSON.stringify([principal, server.url.href, headers, capabilities, info, logLevel]),
  );
}
