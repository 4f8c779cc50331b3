/**
 * Starts a server for inference tests: keys, a config that leads to a test upstream, and requests.
 */
import type { Settings } from '../../../src/settings.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { exchange, type TestResponse } from '../network/exchange.ts';
import { startUpstream, type TestUpstream } from '../upstream/upstream.ts';
import { startTestServer, type TestServer } from './server.ts';

export interface Inference extends AsyncDisposable {
  readonly server: TestServer;
  readonly upstream: TestUpstream;
  /** A trusted `http://127.0.0.1:port` without a listener. */
  readonly nowhere: string;
  /** Creates a key with the completion scope and the given fields. */
  addKey(more?: object): Promise<{ readonly key: string; readonly id: string }>;
  /**
   * Requests a chat completion with a config of the upstream, or without a config when it is null.
   */
  chat(key: string, more?: ChatOptions): Promise<TestResponse>;
}

interface ChatOptions {
  readonly params?: object;
  readonly config?: object | null;
  /** The URL of another gateway. */
  readonly url?: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

/** Nothing on this machine listens there. */
const nowhere = '127.0.0.1:1';

/** Starts a server that trusts its private upstream, and other hosts. */
export async function startInference(
  more: Partial<Settings> = {},
  otherHosts: readonly string[] = [],
): Promise<Inference> {
  const upstream = await startUpstream();
  const trusted = readTrustedHosts([upstream.host, nowhere, ...otherHosts].join(','));
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  const server = await startTestServer({ settings: { trustedHosts, ...more } });
  const config = { provider: 'mock-upstream', custom_host: upstream.url };
  return {
    server,
    upstream,
    nowhere: `http://${nowhere}`,
    addKey: async (more = {}) => {
      const type = 'workspace_id' in more ? 'workspace' : 'organisation';
      const made = await server.request('POST', `/v1/api-keys/${type}/service`, {
        body: { name: 'caller', scopes: ['completions.write'], ...more },
      });
      if (made.status !== 200) throw new Error(`no key: ${JSON.stringify(made.body)}`);
      return made.body;
    },
    chat: (key, requested = {}) => {
      const {
        params = {},
        path = '/v1/chat/completions',
        method = 'POST',
        headers = {},
      } = requested;
      const body = { model: 'm', messages: [{ role: 'user', content: 'hello' }], ...params };
      const inline = JSON.stringify({ ...config, ...requested.config });
      const { url = server.inferenceUrl } = requested;
      return exchange(method, url + path, method === 'POST' ? body : undefined, {
        authorization: `Bearer ${key}`,
        ...(requested.config === null ? {} : { 'x-gateway-config': inline }),
        ...headers,
      });
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}
