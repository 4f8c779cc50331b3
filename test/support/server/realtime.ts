/** Starts a server for tests of realtime sessions, and connects callers to it. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Settings } from '../../../src/settings.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { type RealtimeProvider, startRealtimeProvider } from '../upstream/realtime-provider.ts';
import { eventually } from './eventually.ts';
import { startTestServer, type TestServer } from './server.ts';

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

interface RealtimeCaller {
  readonly socket: WebSocket;
  /** Events of the gateway, in order. */
  readonly received: Event[];
  /** Resolves with code and reason when the session is closed. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  send(event: object): void;
  /** Resolves with the first event of this type behind the events that were awaited before. */
  event(type: string): Promise<Event>;
}

export interface RealtimeServer extends AsyncDisposable {
  readonly server: TestServer;
  readonly provider: RealtimeProvider;
  addKey(more?: object): Promise<{ readonly key: string; readonly id: string }>;
  /** Connects with a config of the provider; resolves once the session is open. */
  connect(key: string, more?: ConnectOptions): Promise<RealtimeCaller>;
  /** The status and the body of a connection that is refused. */
  refusal(
    key: string,
    more?: ConnectOptions,
  ): Promise<{ readonly status: number; readonly body: string }>;
}

interface ConnectOptions {
  readonly config?: object | null;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly protocols?: readonly string[];
  /** The URL of another gateway. */
  readonly url?: string;
}

export async function startRealtime(more: Partial<Settings> = {}): Promise<RealtimeServer> {
  const provider = await startRealtimeProvider();
  const trusted = readTrustedHosts(`${provider.host},127.0.0.1:1`);
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  const server = await startTestServer({ settings: { trustedHosts, ...more } });
  const socketOf = (key: string, options: ConnectOptions): WebSocket => {
    const { config = {}, path = '/v1/realtime?model=gpt-realtime', protocols = [] } = options;
    const inline = { provider: 'mock-upstream', custom_host: provider.url, ...config };
    const headers = {
      authorization: `Bearer ${key}`,
      ...(config === null ? {} : { 'x-gateway-config': JSON.stringify(inline) }),
      ...options.headers,
    };
    const url = (options.url ?? server.inferenceUrl).replace(/^http/, 'ws') + path;
    return new WebSocket(url, [...protocols], { headers, perMessageDeflate: false });
  };
  return {
    server,
    provider,
    addKey: async (fields = {}) => {
      const type = 'workspace_id' in fields ? 'workspace' : 'organisation';
      const made = await server.request('POST', `/v1/api-keys/${type}/service`, {
        body: { name: 'caller', scopes: ['completions.write'], ...fields },
      });
      if (made.status !== 200) throw new Error(`no key: ${JSON.stringify(made.body)}`);
      return made.body;
    },
    connect: async (key, options = {}) => {
      const caller = callerOf(socketOf(key, options));
      await once(caller.socket, 'open');
      return caller;
    },
    refusal: async (key, options = {}) => {
      const socket = socketOf(key, options).on('error', () => undefined);
      const [, response] = await once(socket, 'unexpected-response');
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      return { status: response.statusCode, body: Buffer.concat(chunks).toString() };
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

function callerOf(socket: WebSocket): RealtimeCaller {
  const received: Event[] = [];
  let awaited = 0;
  socket.on('message', (data) => received.push(JSON.parse(String(data)) as Event));
  return {
    socket,
    received,
    closed: new Promise((resolve) => {
      socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }));
    }),
    send: (event) => socket.send(JSON.stringify(event)),
    event: (type) =>
      eventually(() => {
        const at = received.findIndex((one, index) => index >= awaited && one.type === type);
        if (at < 0) {
          throw new Error(`no ${type} among ${received.map((one) => one.type).join(', ')}`);
        }
        awaited = at + 1;
        return received[at]!;
      }),
  };
}
