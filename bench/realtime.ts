/** Measures realtime sessions against a bare WebSocket proxy: added time of an event, and memory of idle sessions. */
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { startTestDatabaseServer } from '../test/support/database/database-server.ts';
import {
  announced,
  type Contestant,
  keepOffGateways,
  startOurs,
  stop,
} from './gateway/contestants.ts';
import { type Member, median, type Row } from './harness.ts';
import { environment, residentMiB, setUp, startProduct } from './product.ts';

const eventCount = 2_000;
const idleSessions = 1_000;
const settleMs = 2_000;
/** An event of sound of 100 ms. */
const sound = 'A'.repeat(6_400);
const events = {
  openai: JSON.stringify({ type: 'input_audio_buffer.append', audio: sound }),
  gemini: JSON.stringify({ realtimeInput: { audio: { data: sound, mimeType: 'audio/pcm' } } }),
};
const paths = {
  openai: '/v1/realtime?model=gpt-realtime',
  gemini: '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
};

interface Side {
  readonly contestant: Contestant;
  readonly api: keyof typeof paths;
  readonly headers: Readonly<Record<string, string>>;
}

async function openSession({ contestant, api, headers }: Side): Promise<WebSocket> {
  const url = contestant.url.replace(/^http/, 'ws') + paths[api];
  const socket = new WebSocket(url, { headers, perMessageDeflate: false });
  if (api === 'gemini') socket.once('open', () => socket.send('{"setup":{"model":"models/m"}}'));
  await once(socket, 'message');
  return socket;
}

/** Milliseconds from sending an event until its echo. */
async function medianEcho(side: Side, count: number): Promise<number> {
  const socket = await openSession(side);
  const times: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const began = performance.now();
    socket.send(events[side.api]);
    await once(socket, 'message');
    times.push(performance.now() - began);
  }
  socket.close();
  return median(times.slice(Math.floor(count / 10)));
}

/** KiB of resident memory for each idle session. */
async function idleKiB(side: Side, count: number): Promise<number> {
  const { pid } = side.contestant;
  await delay(settleMs);
  const before = residentMiB(pid);
  const sockets: WebSocket[] = [];
  for (let at = 0; at < count; at += 1) sockets.push(await openSession(side));
  await delay(settleMs);
  const grown = residentMiB(pid) - before;
  for (const socket of sockets) socket.terminate();
  return (grown * 1024) / count;
}

/** Returns a key without limits and one with a budget of tokens. */
async function makeKeys(
  env: Readonly<Record<string, string>>,
  organisationApiKey: string,
): Promise<readonly [plain: string, limited: string]> {
  const product = await startProduct(env);
  const make = async (more: object): Promise<string> => {
    const response = await fetch(`${product.url}/v1/api-keys/organisation/service`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': organisationApiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'caller', scopes: ['completions.write'], ...more }),
    });
    if (!response.ok) throw new Error(`no key: ${await response.text()}`);
    return ((await response.json()) as { key: string }).key;
  };
  const plain = await make({});
  const limited = await make({ usage_limits: { type: 'tokens', credit_limit: 1_000_000_000 } });
  product.process.kill('SIGKILL');
  return [plain, limited];
}

async function run(scale: number): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  stack.use(keepOffGateways());
  const stopLater = async (starting: Promise<Contestant>): Promise<Contestant> => {
    const one = await starting;
    stack.defer(() => stop(one, 'SIGKILL'));
    return one;
  };
  const script = (name: string, ...words: readonly string[]): Promise<Contestant> =>
    announced([process.execPath, resolve(import.meta.dirname, `realtime/${name}.ts`), ...words]);
  const database = await startTestDatabaseServer();
  stack.defer(() => database.stop());
  const echo = await stopLater(script('echo-server'));
  const env = {
    ...environment(database.server),
    TRUSTED_CUSTOM_HOSTS: new URL(echo.url).host,
    GATEWRIGHT_REALTIME_SESSIONS_OF_KEY_MAX: String(idleSessions * 2),
    GATEWRIGHT_REALTIME_SESSIONS_MAX: String(idleSessions * 2),
  };
  const { organisationApiKey } = await setUp(database.server, env);
  const [plainKey, limitedKey] = await makeKeys(env, organisationApiKey);
  const configs = {
    openai: { provider: 'mock-upstream', custom_host: `${echo.url}/v1` },
    gemini: { provider: 'google', custom_host: `${echo.url}/v1beta`, api_key: 'any' },
  };
  const ours = await stopLater(startOurs(env));
  const sideOf = (key: string, api: Side['api'] = 'openai'): Side => ({
    contestant: ours,
    api,
    headers: {
      authorization: `Bearer ${key}`,
      'x-gateway-config': JSON.stringify(configs[api]),
    },
  });
  const proxy = await stopLater(script('bare-socket-proxy', echo.url));
  const bare: Side = { contestant: proxy, api: 'openai', headers: {} };
  const count = Math.max(50, Math.ceil(eventCount * scale));
  const bareMs = await medianEcho(bare, count);
  const plainMs = await medianEcho(sideOf(plainKey), count);
  const limitedMs = await medianEcho(sideOf(limitedKey), count);
  const liveMs = await medianEcho(sideOf(limitedKey, 'gemini'), count);
  const sessions = Math.max(20, Math.ceil(idleSessions * scale));
  return [
    // An echo passes the gateway twice.
    { metric: 'added median of an event, ms', ratio: (plainMs - bareMs) / 2, aim: 0.2 },
    { metric: 'the same under a budget, ms', ratio: (limitedMs - bareMs) / 2, aim: 0.2 },
    { metric: 'a sound of Gemini under a budget, ms', ratio: (liveMs - bareMs) / 2, aim: 0.2 },
    { metric: 'an idle session, KiB', ratio: await idleKiB(sideOf(plainKey), sessions), aim: 30 },
    {
      metric: 'an idle session of Gemini, KiB',
      ratio: await idleKiB(sideOf(plainKey, 'gemini'), sessions),
      aim: 30,
    },
    {
      metric: 'an idle session of the bare proxy, KiB',
      ratio: await idleKiB(bare, sessions),
      aim: null,
    },
  ];
}

export const member: Member = { name: 'Realtime sessions', run };
