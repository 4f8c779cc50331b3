/** Leases sessions with legacy servers for the requests of modern clients, with credentials that are renewed once. */
import { isObject } from '../../model/json/read-object.ts';
import type { ServerConnections } from '../event-transport/call-mcp-server.ts';
import type { ServerSession } from '../legacy-sessions/legacy-session.ts';
import { CredentialsRefused, type LegacyServer } from '../legacy-sessions/legacy-transport.ts';
import { type LeasedSession, SessionPool } from '../legacy-sessions/session-pool.ts';
import { type ModernRequest, readModernRequest } from '../messages/legacy-request.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import type { CallSubject } from '../rounds/call-states.ts';

/** The parts of a request that a session with the server needs. */
export interface LegacyAccess {
  /** The message as it may be sent. */
  readonly message: RpcObject;
  /** The caller, the server and the arguments as the client sent them. */
  readonly subject: CallSubject;
  /** Returns the server; after a refusal with renewed credentials, null when they cannot be renewed. */
  readonly findServer: (isRefused: boolean) => Promise<LegacyServer | null>;
}

/** Bounds of one process. */
const bounds = { sessionsMax: 2_000, sessionsOfCallerMax: 256, idleMs: 60_000, idleOfCallerMax: 8 };
const [pagesMax, itemsMax] = [200, 10_000];

export class LegacyLeases implements AsyncDisposable {
  readonly #pool: SessionPool;

  constructor(connections: ServerConnections) {
    this.#pool = new SessionPool({ ...bounds, connections });
  }

  /** @throws PlaneFault @throws GatewayError */
  async lease(
    { subject, findServer }: LegacyAccess,
    { client }: ModernRequest,
    wantsFresh = false,
  ): Promise<LeasedSession> {
    const principal = `${subject.principal} ${subject.serverId}`;
    const server = (await findServer(false))!;
    try {
      return await this.#pool.lease({ principal, server, client }, wantsFresh);
    } catch (error) {
      const renewed = error instanceof CredentialsRefused ? await findServer(true) : null;
      if (renewed === null) throw error;
      return await this.#pool.lease({ principal, server: renewed, client }, wantsFresh);
    }
  }

  /** Lists all tools or prompts; null for a response without a list. @throws PlaneFault */
  async list(access: LegacyAccess, type: 'tool' | 'prompt'): Promise<unknown[] | null> {
    const leased = await this.lease(access, readModernRequest(access.message), true);
    try {
      return await listAll(leased.session, `${type}s/list`, `${type}s`);
    } finally {
      leased.giveBack();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }
}

async function listAll(
  session: ServerSession,
  method: string,
  member: string,
): Promise<unknown[] | null> {
  const items: unknown[] = [];
  let cursor: unknown;
  for (let page = 0; page < pagesMax; page += 1) {
    const { result } = await session.ask(method, typeof cursor === 'string' ? { cursor } : {});
    const listed = isObject(result) ? result[member] : undefined;
    if (!Array.isArray(listed) || items.length + listed.length > itemsMax) return null;
    for (const item of listed) items.push(item);
    cursor = isObject(result) ? result.nextCursor : undefined;
    if (typeof cursor !== 'string') return items;
  }
  return null;
}
