/**
 * Verifies for every route which credentials open it, and that all others get the same response.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { grantsScope } from '../../../src/model/people/scopes.ts';
import type { OfferedCredential } from '../../support/callers/offered-credential.ts';
import { doubled, offeredCredentials } from '../../support/callers/offered-credentials.ts';
import { everyRoute, filledPath } from '../../support/interface/every-route.ts';
import { comparableResponse, type RawAnswer, RawClient } from '../../support/network/raw-client.ts';
import { isLong, seed } from '../../support/run/test-effort.ts';
import { startConsoleServer } from '../../support/server/console.ts';
import type { TestServer } from '../../support/server/server.ts';
import { signedInSettings } from '../../support/server/sessions.ts';

type Headers = Readonly<Record<string, string>>;

const routes = everyRoute().map((one, at) => ({ ...one, ...filledPath(one), at }));
type TestedRoute = (typeof routes)[number];

/** Credentials offered to every route in every run. The seed selects a share of the others. */
const always = [
  'token of a superuser',
  'token of a role without scopes',
  'service key',
  'session of the owner',
  'authorization: Bearer garbage',
];
const share = 6;

let server: TestServer;
let client: RawClient;
let credentials: readonly OfferedCredential[];

beforeAll(async () => {
  const log = createLog({ level: 'fatal' });
  server = await startConsoleServer({ settings: signedInSettings, log });
  client = new RawClient(server.url);
  credentials = await offeredCredentials(server);
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

/** Returns the expected outcome of a credential, derived from the declaration of the route. */
function verdictOf(
  { route, accepts, params }: TestedRoute,
  { name, kind, grants }: OfferedCredential,
): 'is nobody' | 'is exhausted' | 'lacks the scope' | 'comes in' {
  if (name.startsWith('key that is exhausted') && accepts.includes(kind)) return 'is exhausted';
  if (grants === null || !accepts.includes(kind)) return 'is nobody';
  const requested = typeof route.scope === 'function' ? route.scope(params) : route.scope;
  const wanted = [requested ?? []].flat();
  const isHeld = wanted.length === 0 || wanted.some((scope) => grantsScope(grants.scopes, scope));
  return isHeld ? 'comes in' : 'lacks the scope';
}

const isTried = (one: TestedRoute, { name, kind }: OfferedCredential, which: number): boolean => {
  const isSignOut = one.route.method === 'DELETE' && one.pattern === '/v1/session';
  if (isSignOut && kind === 'session') return false;
  return isLong || always.includes(name) || (one.at + which + seed) % share === 0;
};

function ask({ route, path }: TestedRoute, headers: Headers): Promise<RawAnswer> {
  const type = { 'content-type': 'application/json', ...headers };
  const body = route.body === undefined || route.bodyType === 'form' ? undefined : '{}';
  return client.send({ method: route.method, target: path, headers: type, body });
}

/** Returns how the response contradicts the expected outcome, or null. */
function faultOf(one: TestedRoute, of: OfferedCredential, answer: RawAnswer, nobody: string) {
  const { status, body } = answer;
  const verdict = verdictOf(one, of);
  const isLetAnywhere = of.grants?.workspaceId === null && !of.grants.isOfMember;
  const fits = {
    'is nobody': () => comparableResponse(answer) === nobody,
    'is exhausted': () => status === 402,
    'lacks the scope': () => status === 403 && body.includes(' is missing"'),
    'comes in': () => status < 500 && status !== 401 && !(status === 403 && isLetAnywhere),
  }[verdict]();
  return fits ? null : `${of.name} ${verdict}: ${one.route.method} ${one.path} ${status} ${body}`;
}

it('opens every route to the credentials it declares, and returns the anonymous response to all others', async () => {
  const faults: (string | null)[] = [];
  const tried = routes.map(async (one) => {
    const nothing = await ask(one, {});
    expect([one.pattern, nothing.status]).toEqual([one.pattern, 401]);
    const nobody = comparableResponse(nothing);
    for (const [which, credential] of credentials.entries()) {
      if (!isTried(one, credential, which)) continue;
      const answer = await ask(one, credential.headers);
      faults.push(faultOf(one, credential, answer, nobody));
    }
  });
  await Promise.all(tried);
  expect(faults.length).toBeGreaterThan(routes.length * always.length);
  expect(faults.filter((fault) => fault !== null)).toEqual([]);
});

it('rejects every pair of two credentials with 400', async () => {
  const pairs = doubled(server, await server.token());
  const tried = routes.map(async (one) => {
    const chosen = isLong ? pairs : [pairs[(one.at + seed) % pairs.length]!];
    for (const pair of chosen) {
      const { status, body } = await ask(one, pair);
      expect([one.path, status, body]).toEqual([one.path, 400, expect.any(String)]);
    }
  });
  await Promise.all(tried);
});
