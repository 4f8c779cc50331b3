/** Knows how tests ask a server for inference: keys, a config that leads to their upstream, and requests. */
import type { Settings } from '../../../src/settings.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { startUpstream, type TestUpstream } from '../upstream/upstream.ts';
import { exchange, startTestServer, type TestResponse, type TestServer } from './server.ts';

export interface Inference extends AsyncDisposable {
  readonly server: TestServer;
  readonly upstream: TestUpstream;
  /** `http://127.0.0.1:port` that is trusted, and where nothing listens. */
  readonly nowhere: string;
  /** A new key that may complete, with what else its body says. */
  addKey(more?: object): Promise<{ readonly key: string; readonly id: string }>;
  /** Asks with a key for a chat completion by a config of the upstream, unless that is null. */
  chat(key: string, more?: ChatOptions): Promise<TestResponse>;
}

interface ChatOptions {
  readonly params?: object;
  readonly config?: object | null;
  /** Of another gateway than that of the server. */
  readonly url?: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

/** Nothing of this machine listens there. */
const nowhere = '127.0.0.1:1';

/** A server whose private upstream is trusted. */
export async function startInference(more: Partial<Settings> = {}): Promise<Inference> {
  const upstream = await startUpstream();
  const trusted = readTrustedHosts(`${upstream.host},${nowhere}`);
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
