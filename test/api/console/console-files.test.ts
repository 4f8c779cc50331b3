/** Verifies how the server serves the page and the assets of the console. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import { RawClient } from '../../support/network/raw-client.ts';
import {
  type ConsoleServer,
  consoleSettings,
  consoleTexts,
  startConsoleServer,
} from '../../support/server/console.ts';
import { startTestServer, testSettings } from '../../support/server/server.ts';

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
    "frame-ancestors 'none'; script-src 'self'; style-src 'self'; form-action 'self'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};

const get = (target: string, headers: Record<string, string> = {}) =>
  client.send({ method: 'GET', target, headers });

describe('the page of the console', () => {
  it('is served with its security headers, and validated by its entity tag on each visit', async () => {
    const page = await get('/console');
    expect(page).toMatchObject({
      status: 200,
      body: consoleTexts['index.html'],
      headers: {
        ...security,
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        vary: 'accept-encoding',
      },
    });
    const { etag } = page.headers;
    const again = await get('/console', { 'if-none-match': etag! });
    expect(again).toMatchObject({ status: 304, body: '', headers: { ...security, etag } });
    expect((await get('/console', { 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('is served for HEAD without a body, and for no other method', async () => {
    const head = await client.send({ method: 'HEAD', target: '/console' });
    expect(head).toMatchObject({ status: 200, body: '', headers: security });
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      expect((await client.send({ method, target: '/console' })).status).toBe(405);
    }
  });

  it('is reached from its address with a slash, from which relative links would lead elsewhere', async () => {
    const answer = await get('/console/');
    expect(answer).toMatchObject({ status: 308, headers: { ...security, location: '../console' } });
  });

  it('is served before the database is connected', async () => {
    const settings = { ...testSettings(), ...consoleSettings() };
    const database = { ...server.settings.database!, port: 1 };
    const log = createLog({ level: 'fatal' });
    const { folder: consoleFolder } = server;
    await using app = openApp(
      { ...settings, database },
      { log, consoleFolder, components: ['admin'] },
    );
    const { adminUrl } = await app.listen();
    expect((await request(`${adminUrl}/console`)).statusCode).toBe(200);
  });
});

describe('an asset of the console', () => {
  it.each([
    ['app-1a2b.js', 'text/javascript; charset=utf-8'],
    ['app-3c4d.css', 'text/css; charset=utf-8'],
    ['mark-5e6f.svg', 'image/svg+xml'],
  ] as const)('is served from %s as %s, to be cached for a year', async (name, type) => {
    expect(await get(`/console/${name}`)).toMatchObject({
      status: 200,
      body: consoleTexts[name],
      headers: {
        ...security,
        'content-type': type,
        'cache-control': 'public, max-age=31536000, immutable',
      },
    });
  });

  it('is compressed as the browser prefers', async () => {
    const load = async (accepted: string) => {
      const answer = await request(`${server.url}/console/app-1a2b.js`, {
        headers: { 'accept-encoding': accepted },
      });
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      return { coding: answer.headers['content-encoding'], bytes };
    };
    const text = consoleTexts['app-1a2b.js'];
    const browsers = await Promise.all(Array.from({ length: 20 }, () => load('gzip, deflate, br')));
    for (const { coding, bytes } of browsers) {
      expect(coding).toBe('br');
      expect(brotliDecompressSync(bytes).toString()).toBe(text);
      expect(bytes.length).toBeLessThan(text.length / 10);
    }
    const older = await load('gzip');
    expect([older.coding, gunzipSync(older.bytes).toString()]).toEqual(['gzip', text]);
    for (const accepted of ['identity', '', 'br;q=0, gzip;q=0', 'zstd']) {
      const plain = await load(accepted);
      expect([plain.coding, plain.bytes.toString()]).toEqual([undefined, text]);
    }
  });

  it.each([
    '/console/index.html',
    '/console/unknown.js',
    '/console/APP-1A2B.JS',
    '/console/app-1a2b.js/',
    '/console/app-1a2b.js/x',
    '/console/..%2fapp-1a2b.js',
    '/console/.%2fapp-1a2b.js',
    '/console/%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    '/console/../package.json',
    '/console//app-1a2b.js',
    '/console/app-1a2b.js%00',
    '/console/app-1a2b.js%00.css',
    '/console/app-1a2b.js%20',
    '/console/app-1a2b.js::$DATA',
    '/console/..%5capp-1a2b.js',
    '/console/%252e%252e',
    '/console/__proto__',
    '/console/constructor',
    '/console/notes.txt',
    '/console/.hidden.js',
    '/console/inner',
    `/console/${'a'.repeat(1000)}.js`,
  ])('is refused by the name %s', async (target) => {
    const answer = await get(target);
    expect([400, 404]).toContain(answer.status);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it('is refused with the security headers where no file has its name', async () => {
    const answer = await get('/console/unknown.js');
    expect(answer).toMatchObject({ status: 404, headers: security });
    expect(JSON.parse(answer.body)).toMatchObject({ success: false, status_code: 404 });
  });

  it('is the one of the start, because no request reaches the disk', async () => {
    writeFileSync(join(server.folder, 'later.js'), 'later');
    writeFileSync(join(server.folder, 'app-3c4d.css'), 'changed');
    rmSync(join(server.folder, 'mark-5e6f.svg'));
    expect((await get('/console/later.js')).status).toBe(404);
    expect((await get('/console/app-3c4d.css')).body).toBe(consoleTexts['app-3c4d.css']);
    expect((await get('/console/mark-5e6f.svg')).body).toBe(consoleTexts['mark-5e6f.svg']);
  });
});

describe('a server without the console', () => {
  it('has no routes for it, and signs nobody in by a link', async () => {
    await using plain = await startTestServer();
    for (const path of ['/console', '/console/', '/console/app-1a2b.js']) {
      expect((await plain.request('GET', path, { auth: 'none' })).status).toBe(404);
    }
    const headers = { origin: plain.url };
    const body = { code: 'any' };
    const used = await plain.request('POST', '/v1/sign-in/link', { auth: 'none', body, headers });
    expect(used).toMatchObject({ status: 403, body: { error: { code: 'AB03' } } });
  });

  it('does not start when the console is on, but not built', () => {
    const settings = { ...testSettings(), ...consoleSettings() };
    const folder = join(server.folder, 'inner');
    mkdirSync(folder, { recursive: true });
    const open = (components?: readonly ['gateway']) =>
      openApp(
        { ...settings, database: server.settings.database },
        {
          log: createLog({ level: 'fatal' }),
          consoleFolder: folder,
          ...(components && { components }),
        },
      );
    expect(() => open()).toThrow(
      `GATEWRIGHT_CONSOLE_ENABLED is ON, but the console is not built: ${join(folder, 'index.html')} ` +
        'does not exist. Build it with `npm start`, or set GATEWRIGHT_CONSOLE_ENABLED=OFF.',
    );
  });

  it('starts where a process runs gateways only', async () => {
    const settings = { ...testSettings(), ...consoleSettings() };
    await using app = openApp(
      { ...settings, database: server.settings.database },
      {
        log: createLog({ level: 'fatal' }),
        consoleFolder: '/nonexistent',
        components: ['gateway'],
      },
    );
    await app.connect();
    const { inferenceUrl } = await app.listen();
    expect((await request(`${inferenceUrl}/console`)).statusCode).toBe(404);
  });
});
