/** Tests three MCP gateways that are killed: limits on tool calls hold, and legacy sessions are neither lost nor crossed. */
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { expect, it } from 'vitest';
import { isLong } from '../support/run/test-effort.ts';
import { type McpTestPlane, startMcpTestPlane } from '../support/server/mcp-plane.ts';
import { type GatewayProcess, newMasterKeys, startGatewayProcess } from './gateway-processes.ts';
import { numbersOf } from './plan.ts';
import { newSeed } from './run-gate.ts';

const gatewayCount = 3;
const leaveMsMax = 30;
const retryMs = 50;

interface Replicas extends AsyncDisposable {
  readonly processes: (GatewayProcess | null)[];
  /** Sends a message to any running replica; status 0 without a response. */
  send(key: string, slug: string, body: unknown, more?: SendMore): Promise<Answer>;
  start(at: number): Promise<void>;
  kill(at: number): Promise<void>;
}

interface SendMore {
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

interface Answer {
  readonly status: number;
  readonly session: string | null;
  readonly text: string;
}

const noAnswer: Answer = { status: 0, session: null, text: '' };

async function startReplicas(plane: McpTestPlane, random: () => number): Promise<Replicas> {
  const { settings } = plane.server;
  const pools = new Map<GatewayProcess, Pool>();
  const start = async (mcpPort: number): Promise<GatewayProcess> => {
    const made = await startGatewayProcess({ settings, trusted: plane.upstream.host, mcpPort });
    pools.set(made, new Pool(made.mcpUrl!, { headersTimeout: 0, bodyTimeout: 0 }));
    return made;
  };
  const processes: (GatewayProcess | null)[] = await Promise.all(
    Array.from({ length: gatewayCount }, () => start(0)),
  );
  return {
    processes,
    send: async (key, slug, body, { headers = {}, signal } = {}) => {
      const alive = processes.filter((one) => one !== null);
      const pool = pools.get(alive[Math.floor(random() * alive.length)]!)!;
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

const callOf = (id: number, name: string, more: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: more },
});

async function startPlane(): Promise<McpTestPlane> {
  const plane = await startMcpTestPlane({ masterKeys: newMasterKeys() });
  plane.server.clock.set(Date.now());
  return plane;
}

function echoesOf({ upstream }: McpTestPlane): number {
  return upstream.calls().filter((name) => name === 'echo').length;
}

/** The killed gateway held some units, and calls of disconnected callers may be charged. */
const usableShare = 0.95;
const units = isLong ? 5_000 : 1_000;
const callers = isLong ? 500 : 60;

it.each([
  [
    'rate-limits',
    { target: 'mcp_tools', type: 'requests', unit: 'rpd', value: units },
    [{ key: 'mcp_tool', value: 'echo' }],
  ],
  ['usage-limits', { type: 'requests', credit_limit: units }, [{ key: 'mcp_tool', value: 'echo' }]],
])(
  'never lets a server receive more calls than %s allow, through a kill, disconnects and batches',
  async (path, terms, conditions) => {
    const random = numbersOf(newSeed());
    await using plane = await startPlane();
    const { slug } = await plane.addServer();
    await plane.create(`/v2/policies/${path}`, {
      name: 'echoes',
      workspace_id: plane.workspace.id,
      conditions,
      group_by: [{ key: 'api_key' }],
      ...terms,
    });
    const { key } = await plane.addKey();
    await using replicas = await startReplicas(plane, random);
    let [left, refused, others, sent] = [0, 0, 0, 0];
    let usedAtRefusal: number | null = null;
    const caller = async (): Promise<void> => {
      for (;;) {
        sent += 1;
        const chance = random();
        const isLeft = chance < 0.1;
        const isBatch = chance > 0.9;
        const isOther = chance > 0.8 && !isBatch;
        const calls = isBatch
          ? [callOf(1, 'echo'), callOf(2, 'echo')]
          : callOf(1, isOther ? 'add' : 'echo');
        const signal = isLeft ? AbortSignal.timeout(Math.ceil(random() * leaveMsMax)) : undefined;
        const { status, text } = await replicas.send(key, slug, calls, signal && { signal });
        if (isLeft) left += 1;
        else if (status === 0 || status === 503) await wait(retryMs);
        else if (isOther) {
          others += 1;
          expect(status).toBe(200);
        } else if (text.includes('_limit_exceeded')) {
          refused += 1;
          // A refused batch has status 200, and needs two calls.
          expect(status).toBe(isBatch ? 200 : 429);
          if (isBatch) continue;
          usedAtRefusal ??= echoesOf(plane);
          return;
        } else expect([status, text]).toEqual([200, expect.stringContaining('result')]);
      }
    };
    const crowd = Array.from({ length: callers }, caller);
    while (plane.upstream.journal.length < units / 4) await wait(10);
    await replicas.kill(Math.floor(random() * gatewayCount));
    await Promise.all(crowd);
    const echoes = echoesOf(plane);
    console.log(`${echoes} of ${units} calls; ${sent} sent, ${left} left, ${refused} refused`);
    expect(echoes).toBeLessThanOrEqual(units);
    expect(echoes).toBeGreaterThan(units * usableShare);
    // Nobody was refused while there were units.
    expect(usedAtRefusal).toBeGreaterThan(units * usableShare - callers);
    expect(others).toBeGreaterThan(0);
    // Everything is used, so no further call passes anywhere.
    const late = await Promise.all(
      Array.from({ length: 20 }, () => replicas.send(key, slug, callOf(3, 'echo'))),
    );
    expect(new Set(late.map(({ status }) => status))).toEqual(new Set([429]));
  },
);

const sessionsMost = isLong ? 1_000 : 60;
const killings = isLong ? 12 : 3;
const killEveryMs = isLong ? 5_000 : 2_000;

it('keeps every legacy session through kill -9 of one replica after the other, and crosses none', async () => {
  const random = numbersOf(newSeed());
  await using plane = await startPlane();
  const { slug } = await plane.addServer();
  const keys = await Promise.all(Array.from({ length: 4 }, () => plane.addKey()));
  /** The client of each session that the server has opened. */
  const owners = new Map<string, string>();
  const crossed: string[] = [];
  plane.upstream.script = ({ body, headers }, response) => {
    const { id, method, params } = body;
    const named = String(headers['mcp-session-id'] ?? '');
    const client = String(params.arguments?.client ?? params.clientInfo?.name);
    const session =
      method === 'initialize' ? `session of ${client} ${owners.size}`.replaceAll(' ', '-') : named;
    if (method === 'initialize') owners.set(session, client);
    else if (owners.get(named) !== client) crossed.push(`${client} in ${named}`);
    const result = method === 'initialize' ? { capabilities: {} } : { content: [] };
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  await using replicas = await startReplicas(plane, random);
  const over = new AbortController();
  const lost: string[] = [];
  let [calls, retried] = [0, 0];
  const client = async (at: number): Promise<void> => {
    const name = `client-${at}`;
    const { key } = keys[at % keys.length]!;
    const params = { protocolVersion: '2025-11-25', clientInfo: { name }, capabilities: {} };
    let session: string | null = null;
    while (session === null) {
      const opening = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
      ({ session } = await replicas.send(key, slug, opening));
      if (session === null) await wait(retryMs);
    }
    const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
    while (!over.signal.aborted) {
      const { status, text } = await replicas.send(key, slug, callOf(1, 'echo', { client: name }), {
        headers,
      });
      if (status === 0) retried += 1;
      else if (status === 200 && text.includes('"result"')) calls += 1;
      else lost.push(`${name}: ${status} ${text}`);
      await wait(Math.ceil(random() * 200));
    }
    const other = keys[(at + 1) % keys.length]!.key;
    const stolen = await replicas.send(other, slug, callOf(2, 'echo', { client: name }), {
      headers,
    });
    if (stolen.status !== 404) crossed.push(`${name} by another key: ${stolen.status}`);
  };
  const crowd = Array.from({ length: sessionsMost }, (_, at) => client(at));
  for (let killing = 0; killing < killings; killing += 1) {
    await wait(killEveryMs);
    const at = killing % gatewayCount;
    await replicas.kill(at);
    await replicas.start(at);
  }
  over.abort();
  await Promise.all(crowd);
  console.log(`${sessionsMost} sessions, ${calls} calls, ${retried} retried after a kill`);
  expect({ lost, crossed }).toEqual({ lost: [], crossed: [] });
  expect(calls).toBeGreaterThan(sessionsMost);
});
