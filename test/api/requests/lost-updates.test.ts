/** Guarantees of every PUT there is: made from an older version it is refused, and of fifty made from one version one is. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { everyRoute } from '../../support/interface/every-route.ts';
import { Description, nameOf, type Operation } from '../../support/interface/response-check.ts';
import { RightRequests } from '../../support/interface/valid-requests.ts';
import { exchange, startTestServer, type TestServer } from '../../support/server/server.ts';

/** PUTs that go by no version, each with what keeps an update from being lost there. */
const unversioned = {
  '/gatewright/leases/:owner': 'is itself what writers of an owner compare: its run, and its fence',
  '/gatewright/sync/status': "goes by the fence of its owner's lease, which one run holds",
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

/** Each once: on v2 where it hangs there. */
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

/** What says another thing than is stored, where the right request might not. */
function changeOf({ path }: Operation, place: string): Promise<unknown> | unknown {
  const { ids } = requests;
  if (path.endsWith('/organisation/defaults'))
    return { export_settings: { deniedFields: ['cost'] } };
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

/** The number of a version that is not in use. */
async function publishable(place: string): Promise<{ version: number }> {
  const body = { string: `Bye ${place}` };
  expect((await server.request('PUT', place, { body })).status).toBe(200);
  return { version: 2 };
}

/** The tag of what a PUT there changes: told by a GET of the same path, or of what it is a part of. */
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

it('every PUT of the registry goes by a version, or says what else it goes by', () => {
  const without = everyRoute().filter(({ route }) => route.method === 'PUT' && !route.versioned);
  expect(without.map(({ route }) => route.path)).toEqual(Object.keys(unversioned));
});

it('of fifty updates from one version one is made, and the others are told', async () => {
  for (const one of puts()) {
    const place = await requests.place(one);
    const right = requests.right(one);
    const body = (await changeOf(one, place)) ?? right.body;
    const tag = await tagOf(one, place);
    const asked = { body, headers: { ...right.headers, 'if-match': tag } };
    const all = Array.from({ length: racing }, () => requests.ask(one, place, asked));
    const counts = new Map<number, number>();
    for (const { status } of await Promise.all(all)) {
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
    // A reset brings back the beginning, once or fifty times, and leaves the policy as it is.
    const due = isReset(one) ? { 200: racing } : { 200: 1, 412: racing - 1 };
    expect.soft([nameOf(one), Object.fromEntries(counts)]).toEqual([nameOf(one), due]);
    if (!isReset(one))
      expect.soft([nameOf(one), await tagOf(one, place)]).not.toEqual([nameOf(one), tag]);
  }
});

it('an update that was refused as stale changes nothing', async () => {
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
