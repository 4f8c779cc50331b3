/** Verifies that no page of another site can change anything with the session cookie of a browser. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { everyRoute, filledPath } from '../../support/interface/every-route.ts';
import { RawClient } from '../../support/network/raw-client.ts';
import { startConsoleServer } from '../../support/server/console.ts';
import { ownerOf } from '../../support/server/people.ts';
import type { TestServer } from '../../support/server/server.ts';
import { addSession, signedInSettings } from '../../support/server/sessions.ts';

const ownOrigin = signedInSettings.sessions!.publicUrl!.origin;

const changing = everyRoute()
  .filter(({ route, accepts }) => route.method !== 'GET' && accepts.includes('session'))
  .map((one) => ({ ...one, ...filledPath(one) }));

/** Headers that browsers and hostile clients send in place of the origin of the console. */
const foreignOrigins: readonly Readonly<Record<string, string>>[] = [
  {},
  { origin: 'null' },
  { origin: 'https://evil.example' },
  { origin: `${ownOrigin}.evil.example` },
  { origin: ownOrigin.replace('https://', 'https://evil.') },
  { origin: ownOrigin.replace('https:', 'http:') },
  { origin: `${ownOrigin}:8443` },
  { origin: `${ownOrigin}/` },
  { origin: `https://evil.example, ${ownOrigin}` },
  { origin: 'http://127.0.0.1' },
  { referer: `${ownOrigin}/console`, 'sec-fetch-site': 'same-origin' },
  { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
  { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', 'x-forwarded-host': ownOrigin },
];
/** Types that a form or a script of another site can send without asking first (Fetch, 2.2.2). */
const simpleTypes = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'];

let server: TestServer;
let client: RawClient;
let cookie: string;

beforeAll(async () => {
  const log = createLog({ level: 'fatal' });
  server = await startConsoleServer({ settings: signedInSettings, log });
  client = new RawClient(server.url);
  cookie = (await addSession(server, await ownerOf(server))).headers.cookie!;
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

it('refuses every change whose origin is not a page of this server', async () => {
  const faults: string[] = [];
  const tried = changing.map(async ({ route, path }, at) => {
    for (const [which, origin] of foreignOrigins.entries()) {
      const types = ['application/json', simpleTypes[(at + which) % simpleTypes.length]!];
      for (const type of types) {
        const { status, body } = await client.send({
          method: route.method,
          target: path,
          headers: { cookie, 'content-type': type, ...origin },
          body: route.body === undefined ? undefined : '{}',
        });
        const isRefused = status === 403 && body.includes('must come from a page of this server');
        if (!isRefused) faults.push(`${route.method} ${path} ${JSON.stringify(origin)} ${status}`);
      }
    }
  });
  await Promise.all(tried);
  expect(changing.length).toBeGreaterThan(100);
  expect(faults).toEqual([]);
});

it('lets no other site read a response, nor ask whether it may', async () => {
  const origin = 'https://evil.example';
  const preflightHeaders = { origin, 'access-control-request-method': 'POST' };
  for (const target of ['/v1/session', '/v1/api-keys', '/console', '/console/docs/']) {
    const read = await client.send({ method: 'GET', target, headers: { cookie, origin } });
    const preflight = await client.send({ method: 'OPTIONS', target, headers: preflightHeaders });
    for (const { headers } of [read, preflight]) {
      const names = Object.keys(headers).filter((name) => name.startsWith('access-control-'));
      expect([target, names]).toEqual([target, []]);
    }
    expect(preflight.status).toBeGreaterThanOrEqual(400);
  }
});
