/** Tests which requests use a proxy, and their limits and errors. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Pools } from '../../../src/remote/pools.ts';
import { type Proxies, proxyOf } from '../../../src/remote/proxies.ts';
import { Secret } from '../../../src/secret.ts';
import { readSettings } from '../../../src/settings.ts';
import { createPki } from '../../support/callers/pki.ts';
import { type ForwardProxy, startForwardProxy } from '../../support/network/forward-proxy.ts';

const settingsOf = (env: Record<string, string>) => readSettings(env, { cwd: '/nowhere' }).proxies;

describe('a proxy', () => {
  const isUsed = (url: string, exempt: readonly string[]): boolean => {
    const proxy = new Secret(new URL('http://proxy:3128'), 'test');
    return proxyOf({ http: proxy, https: proxy, exempt }, new URL(url)) !== null;
  };

  it.each<[string, string[], boolean]>([
    ['https://api.example.com', [], true],
    ['http://localhost:8080', [], false],
    ['http://app.localhost', [], false],
    ['http://127.8.8.8', [], false],
    ['http://[::1]:80', [], false],
    ['https://api.example.com', ['*'], false],
    ['https://api.example.com', ['example.com'], false],
    ['https://api.example.com', ['.example.com'], false],
    ['https://api.example.com', ['*.example.com'], false],
    ['https://api.example.com.', ['API.EXAMPLE.COM'], false],
    ['https://badexample.com', ['example.com', '.example.com'], true],
    ['https://api.example.com', ['example.com:443'], false],
    ['https://api.example.com:8443', ['example.com:443'], true],
    ['http://gw-server.gateways', ['.svc', 'gw-server.gateways'], false],
    ['http://10.1.2.3', ['10.0.0.0/8'], false],
    ['http://11.1.2.3', ['10.0.0.0/8', '10.1.2.3', '11.1.2'], true],
    ['http://10.1.2.3:81', ['10.1.2.3:80'], true],
    ['http://[fd00::1]', ['fd00::/8'], false],
    ['http://[fd00::1]:81', ['[fd00::1]:81'], false],
    ['http://[fd00::1]', ['10.0.0.0/8', '0.0.0.0/0', '::/200', '/', ''], true],
  ])('applies to %s with exemptions %j: %s', (url, exempt, expected) => {
    expect(isUsed(url, exempt)).toBe(expected);
  });

  it('is set by the usual environment variables, lower case first', () => {
    const set = settingsOf({
      HTTP_PROXY: 'http://a:1',
      http_proxy: 'b:2',
      NO_PROXY: 'x',
      no_proxy: '.svc, 10.0.0.0/8',
      HTTPS_PROXY: 'https://u:p@c:3/',
    });
    expect([set?.http, set?.https].map((one) => one?.reveal().href)).toEqual([
      'http://b:2/',
      'https://u:p@c:3/',
    ]);
    expect(set?.exempt).toEqual(['.svc', '10.0.0.0/8']);
    expect(JSON.stringify(set)).not.toContain('u:p');
    expect(settingsOf({ NO_PROXY: '*', http_proxy: '' })).toBeNull();
    expect(() => settingsOf({ https_proxy: 'socks5://user:hunter2@a:1' })).toThrow(
      /^(?=.*HTTPS_PROXY)(?!.*hunter2)/s,
    );
  });
});

describe('requests through a proxy', () => {
  const pki = createPki();
  const authority = pki.authority('api');
  const { cert, key } = authority.issue({ name: 'api.test', altNames: 'DNS:api.test' });
  const plain = createServer((_, answer) => answer.end('plain'));
  const secure = createTlsServer({ cert, key }, (_, answer) => answer.end('secure'));
  let proxy: ForwardProxy;

  beforeAll(async () => {
    proxy = await startForwardProxy();
    for (const server of [plain, secure]) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    }
  });
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    for (const server of [plain, secure]) server.close();
    pki[Symbol.dispose]();
  });
  beforeEach(() => {
    proxy.requests.length = 0;
    proxy.credentials = null;
    proxy.silent = false;
  });

  const portOf = (server: typeof plain): number => (server.address() as AddressInfo).port;
  const through = (exempt: readonly string[] = [], url = proxy.url): Proxies => {
    const secret = new Secret(new URL(url), 'test');
    return { http: secret, https: secret, exempt };
  };

  /** The response, or the reason why there is none. */
  async function ask(origin: string, proxies = through(), over = {}): Promise<string> {
    const limits = {
      connectionsMax: 2,
      connectTimeoutMs: 5_000,
      responseTimeoutMs: 5_000,
      responseBytesMax: 1024,
      tls: { ca: authority.cert },
      ...over,
    };
    const pools = new Pools(limits, proxies);
    try {
      const answer = await pools.poolFor(origin).request({ origin, path: '/', method: 'GET' });
      return await answer.body.text();
    } catch (error) {
      return `${(error as Error).message || (error as NodeJS.ErrnoException).code}${pools.describeRoute(origin)}`;
    } finally {
      await pools.destroy();
    }
  }

  it('reaches hosts that only the proxy can resolve: https in a tunnel with its own authorities, http in the clear', async () => {
    const [open, closed] = [
      `http://api.test:${portOf(plain)}`,
      `https://api.test:${portOf(secure)}`,
    ];
    expect([await ask(open), await ask(closed)]).toEqual(['plain', 'secure']);
    expect(proxy.requests).toEqual([`GET ${open}/`, `CONNECT ${new URL(closed).host}`]);
  });

  it('trusts no additional authority or name because of the proxy', async () => {
    const origin = `https://api.test:${portOf(secure)}`;
    expect(await ask(origin, through(), { tls: {} })).toMatch(/certificate/);
    expect(await ask(`https://other.test:${portOf(secure)}`)).toMatch(/altnames/);
  });

  it('sends the credentials of the proxy address, and names the server that refused', async () => {
    proxy.credentials = 'us er:pa:ss';
    const origins = [`http://api.test:${portOf(plain)}`, `https://api.test:${portOf(secure)}`];
    const known = proxy.url.replace('//', '//us%20er:pa%3Ass@');
    for (const origin of origins) {
      expect(await ask(origin, through([], known))).toMatch(/plain|secure/);
      const refused = await ask(origin, through([], proxy.url.replace('//', '//us%20er:wrong@')));
      expect(refused).toContain('407');
      expect(refused).toContain(`through the proxy ${proxy.url}`);
      expect(refused).not.toContain('wrong');
    }
  });

  it('connects directly to exempt hosts and to this machine', async () => {
    const local = `http://127.0.0.1:${portOf(plain)}`;
    expect(await ask(local)).toBe('plain');
    expect(await ask(local, through(['127.0.0.1']))).toBe('plain');
    expect(proxy.requests).toEqual([]);
  });

  it('ends when the proxy accepts and never answers, and holds no more than permitted', async () => {
    proxy.silent = true;
    const origins = [`http://api.test:${portOf(plain)}`, `https://api.test:${portOf(secure)}`];
    const over = { responseTimeoutMs: 50, connectTimeoutMs: 50 };
    for (const origin of origins) expect(await ask(origin, through(), over)).toMatch(/[Tt]imeout/);
    proxy.silent = false;
    for (const origin of origins) {
      expect(await ask(origin, through(), { responseBytesMax: 3 })).toMatch(/exceeded/);
    }
  });
});
