/** Tests three MCP gateways that are killed: limits on tool calls hold, and legacy sessions are neither lost nor crossed. */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { recallSlices } from '../support/rows/usage-rows.ts';
import { isLong } from '../support/run/test-effort.ts';
import { eventually } from '../support/server/eventually.ts';
import { type McpTestPlane, startMcpTestPlane } from '../support/server/mcp-plane.ts';
import { newMasterKeys } from './gateway-processes.ts';
import { gatewayCount, type Replicas, startReplicas } from './mcp-replicas.ts';
import { numbersOf } from './plan.ts';
import { newSeed } from './run-gate.ts';

const leaveMsMax = 30;
const retryMs = 50;

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

/** Calls of `echo` that a limit counts: each first round, and each answer but the first to one state. */
function echoesOf({ upstream }: McpTestPlane): number {
  const states = new Set<string>();
  let [firsts, answers] = [0, 0];
  for (const message of upstream.journal.flatMap(({ body }) => [body].flat())) {
    const { name, inputResponses, requestState } = message?.params ?? {};
    if (message?.method !== 'tools/call' || name !== 'echo') continue;
    if (inputResponses === undefined) firsts += 1;
    else {
      answers += 1;
      states.add(requestState);
    }
  }
  return firsts + answers - states.size;
}

/** Has the server ask before it answers a call of the modern era. */
function askInModernEra({ upstream }: McpTestPlane): void {
  let states = 0;
  upstream.answer = ({ method, params }) => {
    if (method !== 'tools/call' || params._meta === undefined) return null;
    if (params.inputResponses !== undefined) {
      return { result: { resultType: 'complete', content: [] } };
    }
    states += 1;
    const inputRequests = { q: { method: 'elicitation/create', params: { message: '?' } } };
    return {
      result: { resultType: 'input_required', inputRequests, requestState: `state ${states}` },
    };
  };
}

const modern = '2026-07-28';
const modernHeaders = {
  'mcp-protocol-version': modern,
  'mcp-method': 'tools/call',
  'mcp-name': 'echo',
};

const modernCall = (more: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'echo',
    arguments: {},
    ...more,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': modern,
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    },
  },
});

/** Answers the question of a call, sometimes without waiting for the result, and sometimes twice. */
async function answerCall(
  replicas: Replicas,
  key: string,
  slug: string,
  first: string,
  random: () => number,
): Promise<void> {
  const { requestState } = JSON.parse(first).result;
  const answer = { q: { action: 'accept', content: {} } };
  const retry = modernCall({ requestState, inputResponses: answer });
  const times = random() < 0.1 ? 2 : 1;
  for (let time = 0; time < times; time += 1) {
    const signal = random() < 0.1 ? AbortSignal.timeout(leaveMsMax) : undefined;
    const { status, text } = await replicas.send(key, slug, retry, {
      headers: modernHeaders,
      ...(signal && { signal }),
    });
    if (status === 0 || status === 503) continue;
    if (text.includes('_limit_exceeded')) expect([time, status]).toEqual([1, 429]);
    else expect([status, text]).toEqual([200, expect.stringContaining('complete')]);
  }
}

/** Calls of disconnected callers may be charged. */
const usableShare = 0.95;
/** Units that the killed gateway held: they count as used. All others return theirs. */
function unitsOfKilled({ server }: McpTestPlane): Promise<number> {
  const { db } = server.database;
  return eventually(async () => {
    await recallSlices(db);
    const slices = await db.selectFrom('usage_slices').select(['holder', 'units']).execute();
    const holders = new Set(slices.map(({ holder }) => holder.toString('hex')));
    expect(holders.size).toBeLessThanOrEqual(1);
    return slices.reduce((sum, { units: held }) => sum + Number(held), 0);
  });
}

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
  'never lets a server receive more calls than %s allow, through a kill, disconnects, batches and rounds of questions',
  async (path, terms, conditions) => {
    const random = numbersOf(newSeed());
    await using plane = await startPlane();
    askInModernEra(plane);
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
    let [left, refused, others, sent, questions] = [0, 0, 0, 0, 0];
    let usedAtRefusal: number | null = null;
    const caller = async (): Promise<void> => {
      for (;;) {
        sent += 1;
        const chance = random();
        const isLeft = chance < 0.1;
        const isBatch = chance > 0.9;
        const isOther = chance > 0.8 && !isBatch;
        const isAsking = chance > 0.6 && chance <= 0.8;
        const calls = isBatch
          ? [callOf(1, 'echo'), callOf(2, 'echo')]
          : isAsking
            ? modernCall()
            : callOf(1, isOther ? 'add' : 'echo');
        const signal = isLeft ? AbortSignal.timeout(Math.ceil(random() * leaveMsMax)) : undefined;
        const { status, text } = await replicas.send(key, slug, calls, {
          headers: isAsking ? modernHeaders : {},
          ...(signal && { signal }),
        });
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
        } else {
          expect([status, text]).toEqual([200, expect.stringContaining('result')]);
          if (!isAsking) continue;
          questions += 1;
          await answerCall(replicas, key, slug, text, random);
        }
      }
    };
    const crowd = Array.from({ length: callers }, caller);
    while (plane.upstream.journal.length < units / 4) await wait(10);
    await replicas.kill(Math.floor(random() * gatewayCount));
    await Promise.all(crowd);
    const echoes = echoesOf(plane);
    console.log(
      `${echoes} of ${units} calls; ${sent} sent, ${left} left, ${refused} refused, ${questions} with a question`,
    );
    expect(echoes).toBeLessThanOrEqual(units);
    const usable = units - (await unitsOfKilled(plane));
    expect(echoes).toBeGreaterThan(usable - units * (1 - usableShare));
    // Nobody was refused while there were units.
    expect(usedAtRefusal).toBeGreaterThan(usable - units * (1 - usableShare) - callers);
    expect(others).toBeGreaterThan(0);
    expect(questions).toBeGreaterThan(0);
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
    // A call without a response, or that its gateway could not send, is repeated; the last one must succeed.
    for (let isDone = false; !isDone; ) {
      const isLast = over.signal.aborted;
      const { status, text } = await replicas.send(key, slug, callOf(1, 'echo', { client: name }), {
        headers,
      });
      if (status === 0 || status === 502 || status === 503) retried += 1;
      else if (status === 200 && text.includes('"result"')) {
        calls += 1;
        isDone = isLast;
      } else {
        lost.push(`${name}: ${status} ${text}`);
        isDone = isLast;
      }
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
