/**
 * Verifies every PUT: a stale version is rejected, and one of fifty updates from one version
 * succeeds.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { everyRoute } from '../../support/interface/every-route.ts';
import { Description, nameOf, type Operation } from '../../support/interface/response-check.ts';
import { RightRequests } from '../../support/interface/valid-requests.ts';
import { exchange } from '../../support/network/exchange.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

/** PUTs without a version, each with what prevents lost updates there. */
const unversioned = {
  '/gatewright/leases/:owner': 'is itself what writers of an owner compare: its run, and its fence',
  '/gatewright/sync/status': "goes by the fence of its owner's lease, which one run holds",
  '/gatewright/sync/sources': "goes by the fence of its owner's lease, which one run holds",
  '/gatewright/sync/revisions/:number/changes': 'compares where it starts with what is recorded',
  '/gatewright/sync/suspensions': 'says the whole of a pause, of which nothing is read before',
};

let server: TestServer;
let requests: RightRequests;
let operations: readonly Operation[];

beforeAll(async () => {
  server = await startTestServer();
  const document = await exchange('GET', `${server.url}/openapi.json`, undefined, {});
  const description = new Description(document.body);
  ({ operations } = description);
  requests = new RightRequests(server, description, await server.token(), (faults) =>
    expect(faults).toEqual([]),
  );
  await requests.furnish();
});
afterAll(() => server[Symbol.asyncDispose]());

const racing = 50;
const isReset = ({ path }: Pick<Operation, 'path'>) => path.endsWith('/reset');

/** Each operation once, on v2 where it exists there. */
function puts(): Operation[] {
  const all = operations.filter(
    ({ method, headers }) => method === 'PUT' && headers.includes('If-Match'),
  );
  const paths = new Set(all.map(({ path }) => path));
  return all.filter(({ path }) => {
    const [, mount, rest] = /^\/(v1|admin\/v2)(\/.*)$/.exec(path) ?? [];
    return mount === undefined || !paths.has(`/v2${rest}`);
  });
}

/** A body that differs from the stored state where the valid request may not. */
function changeOf({ path }: Operation, place: string): Promise<unknown> | unknown {
  const { ids } = requests;
  if (path.endsWith('/organisation/defaults'))
    return { export_settings: { deniedFields: ['cost'] } };
  if (path.endsWith('/auth-settings')) {
    return { auth_settings: { disable_auto_provision_user: path.startsWith('/v1/') } };
  }
  if (path.endsWith('/scopes/{name}')) return { description: place };
  if (path.includes('/workspace-exclusions/')) {
    return { workspaces: [{ workspace_id: ids.workspaces, excluded: true }] };
  }
  if (path.endsWith('/mcp-servers')) {
    return { mcp_servers: { [ids['mcp-servers']!]: { run_on: ['input'] } } };
  }
  if (path.endsWith('/integrations/{integrationId}/workspaces')) {
    return {
      workspaces: [{ id: ids.workspaces, enabled: true, usage_limits: [{ credit_limit: 7 }] }],
    };
  }
  if (path.endsWith('/makeDefault')) return publishable(place.replace('/makeDefault', ''));
  return undefined;
}

/** Returns the number of a version that is not published. */
async function publishable(place: string): Promise<{ version: number }> {
  const body = { string: `Bye ${place}` };
  expect((await server.request('PUT', place, { body })).status).toBe(200);
  return { version: 2 };
}

/** Returns the ETag for a PUT: from a GET of the same path or of its parent. */
async function tagOf({ path }: Operation, place: string): Promise<string> {
  const isThere = operations.some((one) => nameOf(one) === nameOf({ method: 'GET', path }));
  const whole = place.replace(/\/(?:makeDefault|integration-models|entities\/[^/]+\/reset)$/, '');
  const { status, headers } = await server.request('GET', isThere ? place : whole);
  expect([path, status, headers.etag]).toEqual([
    path,
    200,
    expect.stringMatching(/^(?:W\/)?"\d{1,10}"$/),
  ]);
  return String(headers.etag);
}

it('requires a version for every PUT in the registry, or a documented reason', () => {
  const without = everyRoute().filter(({ route }) => route.method === 'PUT' && !route.versioned);
  expect(without.map(({ route }) => route.path)).toEqual(Object.keys(unversioned));
});

it('applies one of fifty updates from one version, and rejects the others', async () => {
  for (const one of puts()) {
    const place = await requests.place(one);
    const right = requests.right(one);
    const body = (await changeOf(one, place)) ?? right.body;
    const tag = await tagOf(one, place);
    const query = { body, headers: { ...right.headers, 'if-match': tag } };
    const all = Array.from({ length: racing }, () => requests.ask(one, place, query));
    const counts = new Map<number, number>();
    for (const { status } of await Promise.all(all)) {
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
    // A reset restores the initial state once or fifty times, and does not change the policy.
    const due = isReset(one) ? { 200: racing } : { 200: 1, 412: racing - 1 };
    expect.soft([nameOf(one), Object.fromEntries(counts)]).toEqual([nameOf(one), due]);
    if (!isReset(one))
      expect.soft([nameOf(one), await tagOf(one, place)]).not.toEqual([nameOf(one), tag]);
  }
});

it('changes nothing when a stale update is rejected', async () => {
  const changed: string[] = [];
  for (const one of puts().filter((each) => !isReset(each))) {
    const place = await requests.place(one);
    const right = requests.right(one);
    const body = (await changeOf(one, place)) ?? right.body;
    const tag = await tagOf(one, place);
    const older = { body, headers: { ...right.headers, 'if-match': '"4000000001"' } };
    expect((await requests.ask(one, place, older)).status).toBe(412);
    if ((await tagOf(one, place)) !== tag) changed.push(nameOf(one));
  }
  expect(changed).toEqual([]);
});
