/** Verifies how the server serves the built documentation below the console. */
import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RawClient } from '../../support/network/raw-client.ts';
import { type ConsoleServer, docsTexts, startConsoleServer } from '../../support/server/console.ts';

let server: ConsoleServer;
let client: RawClient;

beforeAll(async () => {
  server = await startConsoleServer();
  client = new RawClient(server.url);
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

/** Headers of every response, whatever its status. */
const security = {
  'content-security-policy':
    "default-src 'none'; connect-src 'self'; img-src 'self' data:; font-src 'self'; base-uri 'none'; " +
    "frame-ancestors 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; " +
    "style-src-attr 'unsafe-inline'; worker-src 'self'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};
/** The type of pages. */
const html = 'text/html; charset=utf-8';

const get = (target: string, headers: Record<string, string> = {}) =>
  client.send({ method: 'GET', target, headers });

describe('the documentation', () => {
  it.each([
    ['/console/docs/', 'index.html'],
    ['/console/docs/guides/console/', 'guides/console/index.html'],
  ] as const)('has a page at %s, which its entity tag validates', async (target, name) => {
    const page = await get(target);
    expect(page).toMatchObject({
      status: 200,
      body: docsTexts[name],
      headers: { ...security, 'content-type': html, 'cache-control': 'no-cache' },
    });
    const { etag } = page.headers;
    expect(await get(target, { 'if-none-match': etag! })).toMatchObject({
      status: 304,
      body: '',
      headers: { ...security, etag },
    });
  });

  it('leads from addresses without a slash to the page', async () => {
    const start = { status: 308, headers: { ...security, location: 'docs/' } };
    expect(await get('/console/docs')).toMatchObject(start);
    const page = { status: 308, headers: { ...security, location: 'console/' } };
    expect(await get('/console/docs/guides/console')).toMatchObject(page);
  });

  it('sends texts as they are stored to browsers that accept gzip', async () => {
    const { body, headers } = await request(`${server.url}/console/docs/guides/console/`, {
      headers: { 'accept-encoding': 'gzip, deflate, br' },
    });
    expect(headers['content-encoding']).toBe('gzip');
    const bytes = Buffer.from(await body.arrayBuffer());
    expect(gunzipSync(bytes).toString()).toBe(docsTexts['guides/console/index.html']);
  });

  it('lets files with a hash in their name be cached for a year', async () => {
    expect(await get('/console/docs/_astro/page.1a2b.css')).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'text/css; charset=utf-8',
        'cache-control': 'public, max-age=31536000, immutable',
      },
    });
  });

  it('sends the data of its search unchanged', async () => {
    const { body, headers } = await request(`${server.url}/console/docs/pagefind/wasm.en.pagefind`);
    expect(headers['content-type']).toBe('application/octet-stream');
    expect([...Buffer.from(await body.arrayBuffer())]).toEqual([0, 1, 2, 255]);
  });

  it.each([
    '/console/docs/nothing',
    '/console/docs/guides/',
    '/console/docs/index.html.gz',
    '/console/docs/guides/console/index.html',
  ])('has nothing at %s', async (target) => {
    expect((await get(target)).status).toBe(404);
  });

  it('never leaves its folder', async () => {
    for (const way of ['..%2f..%2fpackage.json', '%2e%2e/%2e%2e/package.json', '..%5cconsole']) {
      expect([400, 404]).toContain((await get(`/console/docs/${way}`)).status);
    }
  });

  it('is not found by other methods than GET and HEAD', async () => {
    const head = await client.send({ method: 'HEAD', target: '/console/docs/' });
    expect(head).toMatchObject({ status: 200, body: '', headers: security });
    expect((await client.send({ method: 'POST', target: '/console/docs/' })).status).toBe(405);
  });
});
