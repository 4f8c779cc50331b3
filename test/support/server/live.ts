/** Starts a server for tests of Gemini's live API, and connects Google's own client to it. */
import {
  GoogleGenAI,
  type LiveConnectConfig,
  type LiveServerMessage,
  type Session,
} from '@google/genai';
import type { Settings } from '../../../src/settings.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { type LiveProvider, startLiveProvider } from '../upstream/live-provider.ts';
import { eventually } from './eventually.ts';
import { logIsWritten } from './request-log.ts';
import { startTestServer, type TestServer } from './server.ts';

interface LiveCaller {
  readonly session: Session;
  /** Messages of the gateway, in order. */
  readonly received: LiveServerMessage[];
  /** Resolves with code and reason when the session is closed. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  /** Resolves with the first message behind those that were awaited before, for which the test is true. */
  message(matches: (message: LiveServerMessage) => boolean): Promise<LiveServerMessage>;
  /** Resolves with the end of the next turn. */
  turn(): Promise<LiveServerMessage>;
}

export interface LiveServer extends AsyncDisposable {
  readonly server: TestServer;
  readonly provider: LiveProvider;
  addKey(more?: object): Promise<{ readonly key: string; readonly id: string }>;
  /** Resolves once the session is set up; rejects when it is refused. */
  connect(key: string, more?: LiveOptions): Promise<LiveCaller>;
}

interface LiveOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Members of the gateway's config. */
  readonly config?: object;
  readonly live?: LiveConnectConfig;
  readonly model?: string;
  /** The URL of another gateway. */
  readonly url?: string;
}

export const liveModel = 'gemini-live-2.5-flash-preview';

export async function startLive(more: Partial<Settings> = {}): Promise<LiveServer> {
  const provider = await startLiveProvider();
  const trusted = readTrustedHosts(`${provider.host},127.0.0.1:1`);
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  const server = await startTestServer({ settings: { trustedHosts, ...more } });
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
    connect: (key, options = {}) => {
      const { config = {}, live = {}, model = liveModel, url = server.inferenceUrl } = options;
      const inline = {
        provider: 'google',
        custom_host: provider.url,
        api_key: 'provider-credential',
        ...config,
      };
      const headers = { 'x-gateway-config': JSON.stringify(inline), ...options.headers };
      const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url, headers } });
      return connectLive(client, model, live);
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** The log entries of a session. */
export async function liveLog(
  { server }: LiveServer,
  id: string,
): Promise<readonly (Readonly<Record<string, unknown>> & { readonly status: number })[]> {
  await logIsWritten(server);
  const { body } = await server.request('GET', `/v1/logs?trace_id=${id}`);
  return body.data;
}

/** Connects a client of Google. */
export async function connectLive(
  client: GoogleGenAI,
  model: string,
  config: LiveConnectConfig = {},
): Promise<LiveCaller> {
  const received: LiveServerMessage[] = [];
  const { promise: closed, resolve } = Promise.withResolvers<Awaited<LiveCaller['closed']>>();
  let awaited = 0;
  const session = await client.live.connect({
    model,
    config,
    callbacks: {
      onmessage: (message) => received.push(message),
      onclose: ({ code, reason }) => resolve({ code, reason }),
      onerror: () => undefined,
    },
  });
  const message: LiveCaller['message'] = (matches) =>
    eventually(() => {
      const at = received.findIndex((one, index) => index >= awaited && matches(one));
      if (at < 0) throw new Error(`not among ${JSON.stringify(received.slice(awaited))}`);
      awaited = at + 1;
      return received[at]!;
    });
  return {
    session,
    received,
    closed,
    message,
    turn: () => message(({ serverContent }) => serverContent?.turnComplete === true),
  };
}
