/** Starts three gateway processes before one MCP server, sends messages to any of them, and kills them. */
import { Pool } from 'undici';
import type { McpTestPlane } from '../support/server/mcp-plane.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-processes.ts';

export const gatewayCount = 3;

export interface Replicas extends AsyncDisposable {
  readonly processes: (GatewayProcess | null)[];
  /** Sends a message to any running replica; status 0 without a response. */
  send(key: string, slug: string, body: unknown, more?: SendMore): Promise<Answer>;
  start(at: number): Promise<void>;
  kill(at: number): Promise<void>;
}

interface SendMore {
  /** Sends to this replica. */
  readonly at?: number;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

interface Answer {
  readonly status: number;
  readonly session: string | null;
  readonly text: string;
}

const noAnswer: Answer = { status: 0, session: null, text: '' };

/** `hosts` are further ones that integrations may name. */
export async function startReplicas(
  plane: McpTestPlane,
  random: () => number,
  hosts = '',
): Promise<Replicas> {
  const { settings } = plane.server;
  const trusted = [plane.upstream.host, hosts].filter((one) => one !== '').join(',');
  const pools = new Map<GatewayProcess, Pool>();
  const start = async (mcpPort: number): Promise<GatewayProcess> => {
    const made = await startGatewayProcess({ settings, trusted, mcpPort });
    pools.set(made, new Pool(made.mcpUrl!, { headersTimeout: 0, bodyTimeout: 0 }));
    return made;
  };
  const processes: (GatewayProcess | null)[] = await Promise.all(
    Array.from({ length: gatewayCount }, () => start(0)),
  );
  return {
    processes,
    send: async (key, slug, body, { headers = {}, signal, at } = {}) => {
      const alive = processes.filter((one) => one !== null);
      const chosen = at === undefined ? alive[Math.floor(random() * alive.length)] : processes[at];
      const pool = pools.get(chosen!)!;
      try {
        const answer = await pool.request({
          path: `/${slug}/mcp`,
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            accept: 'application/json, text/event-stream',
            'content-type': 'application/json',
            ...headers,
          },
          body: JSON.stringify(body),
          signal: signal ?? null,
        });
        const session = answer.headers['mcp-session-id'];
        const text = await answer.body.text();
        return { status: answer.statusCode, text, session: session ? String(session) : null };
      } catch {
        return noAnswer;
      }
    },
    start: async (at) => {
      processes[at] = await start(0);
    },
    kill: async (at) => {
      const dying = processes[at]!;
      processes[at] = null;
      await dying.kill();
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
      await Promise.all(processes.map((one) => one?.[Symbol.asyncDispose]()));
    },
  };
}
