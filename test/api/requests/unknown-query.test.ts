/** Verifies for every operation of the OpenAPI document that a query member it does not describe is refused. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { everyRoute } from '../../support/interface/every-route.ts';
import { adminOperations } from '../../support/interface/response-check.ts';
import { RawClient } from '../../support/network/raw-client.ts';
import { ownerOf } from '../../support/server/people.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addSession, signedInSettings } from '../../support/server/sessions.ts';
import { addTenant } from '../../support/server/tenant.ts';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: { readonly enum?: readonly string[] };
}
interface Operation {
  readonly method: string;
  readonly path: string;
  readonly tags?: readonly string[];
  readonly security: readonly Record<string, unknown>[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Record<string, unknown> };
}

let server: TestServer;
let client: RawClient;
let operations: readonly Operation[];
/** Headers by security scheme. */
let credentials: Record<string, Record<string, string>>;

beforeAll(async () => {
  server = await startTestServer({ settings: signedInSettings });
  client = new RawClient(server.url);
  const { clientId, clientSecret } = server;
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  credentials = {
    accessToken: { authorization: `Bearer ${await server.token()}` },
    clientCredentials: { authorization: `Basic ${basic}` },
    sessionCookie: (await addSession(server, await ownerOf(server))).headers,
  };
  const { body } = await client.send({ method: 'GET', target: '/openapi.json', headers: {} });
  const { paths } = JSON.parse(body) as { paths: Record<string, Record<string, Operation>> };
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    adminOperations(methods).map(([method, one]) => ({
      ...one,
      path,
      method: method.toUpperCase(),
    })),
  );
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

/** Standards demand that unknown parameters are ignored there. */
const ignoresUnknown = ({ path }: Operation) =>
  path.startsWith('/v1/scim/v2/') || path === '/v1/sign-in/callback';
/** Parameters that routes accept whether they use them or not. */
const frame = ['organisation_id', 'workspace_id'];

function ask({ method, path, security, parameters, requestBody }: Operation, query: string) {
  const words = new Map(parameters.map(({ name, schema }) => [name, schema.enum?.[0]]));
  const filled = path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => words.get(name) ?? '1');
  const scheme = Object.keys(credentials).find((name) => security.some((one) => name in one));
  const [type] = Object.keys(requestBody?.content ?? {});
  const headers = {
    ...(scheme === undefined ? {} : credentials[scheme]),
    ...(type === undefined ? {} : { 'content-type': type }),
  };
  const body = type === undefined ? undefined : type.includes('json') ? '{}' : 'a=b';
  return client.send({ method, target: `${filled}?${query}`, headers, body });
}

/** Some lists accept a parameter in snake case and in camel case. */
const plain = (name: string) => name.replaceAll('_', '').toLowerCase();

/** The position and the message of an error in any of its forms. */
function errorOf(body: string): string {
  const { error, error_description: description } = JSON.parse(body);
  return typeof error === 'object' ? `${error.param} ${error.message}` : description;
}

it('returns 400 with the name of an unknown query member on every operation', async () => {
  const faults: unknown[] = [];
  for (const one of operations) {
    const { status, body } = await ask(one, 'no_such_member=1');
    const isRefused = status === 400 && body.includes('no_such_member: is not a known query');
    if (isRefused === ignoresUnknown(one)) faults.push([one.method, one.path, status, body]);
  }
  expect(faults).toEqual([]);
  const documented = new Set(operations.map(({ method, path }) => `${method} ${path}`));
  const registered = everyRoute().map(
    ({ route, pattern }) => `${route.method} ${pattern.replaceAll(/:([^/]+)/g, '{$1}')}`,
  );
  expect(registered.filter((name) => !documented.has(name))).toEqual([]);
  expect(operations.filter(ignoresUnknown).length).toBeGreaterThan(10);
});

it('names the right member for each misspelled one of every list and analytics route', async () => {
  const faults: unknown[] = [];
  let count = 0;
  for (const one of operations) {
    if (one.method !== 'GET' || ignoresUnknown(one)) continue;
    for (const { name, in: place } of one.parameters) {
      if (place !== 'query' || frame.includes(name)) continue;
      count += 1;
      const { status, body } = await ask(one, `${name}x=1`);
      const meant = /; did you mean "(\w+)"\?/.exec(errorOf(body))?.[1] ?? '';
      const isHelpful = status === 400 && plain(meant) === plain(name);
      if (!isHelpful) faults.push([one.path, name, status, body]);
    }
  }
  expect(faults).toEqual([]);
  expect(count).toBeGreaterThan(500);
});

it('accepts the organisation of the caller on every list of /v1 and /v2, and no other', async () => {
  const other = await addTenant(server);
  const lists = operations.filter(
    ({ method, path, parameters }) =>
      method === 'GET' &&
      /^\/v[12]\/(?!scim\/v2)/.test(path) &&
      !path.includes('{') &&
      parameters.some(({ name }) => name === 'page_size' || name === 'pageSize'),
  );
  expect(lists.length).toBeGreaterThan(40);
  for (const one of lists) {
    for (const own of [server.tsgId, server.organisationId]) {
      const { body } = await ask(one, `organisation_id=${own}`);
      expect([one.path, body]).not.toEqual([one.path, expect.stringContaining('organisation_id:')]);
    }
    const { status, body } = await ask(one, `organisation_id=${other.tsgId}`);
    expect([one.path, status, errorOf(body)]).toEqual([
      one.path,
      404,
      expect.stringContaining('organisation_id'),
    ]);
  }
});
