/**
 * Verifies that the OpenAPI document is complete: every status and body of every route occurs, and
 * matches it.
 */
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { suspensionsMax } from '../../../src/store/sync/sync-suspensions.ts';
import { exhaustedKey } from '../../support/callers/offered-keys.ts';
import { schemaNames } from '../../support/database/database.ts';
import { type DatabaseLink, startDatabaseLink } from '../../support/database/database-link.ts';
import { Description, nameOf, type Operation } from '../../support/interface/response-check.ts';
import {
  isLinkUse,
  isToken,
  type RequestParts,
  RightRequests,
} from '../../support/interface/valid-requests.ts';
import { exchange } from '../../support/network/exchange.ts';
import { startConsoleServer } from '../../support/server/console.ts';
import { addUser, ownerOf } from '../../support/server/people.ts';
import { fetchToken, type TestServer } from '../../support/server/server.ts';
import { signedInSettings } from '../../support/server/sessions.ts';
import { addServiceAccount, addTenant } from '../../support/server/tenant.ts';

let link: DatabaseLink;
let server: TestServer;
let description: Description;
let requests: RightRequests;

beforeAll(async () => {
  link = await startDatabaseLink();
  server = await startConsoleServer({
    between: link.lead,
    settings: signedInSettings,
  });
  const document = await exchange('GET', `${server.url}/openapi.json`, undefined, {});
  description = new Description(document.body);
  requests = new RightRequests(server, description, await server.token(), (faults) =>
    expect(faults).toEqual([]),
  );
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await link[Symbol.asyncDispose]();
});

const telling =
  (status: number) =>
  ({ statuses }: Operation): boolean =>
    statuses.includes(String(status));
const isProposal = ({ path }: Operation): boolean => path.includes('/gatewright/proposals');
/** Its success needs a Git host: see test/api/proposals. */
const opensRequest = ({ path }: Operation): boolean => path.endsWith('/gatewright/proposals');
const isPublic = (one: Operation): boolean => !telling(401)(one);

/**
 * Returns the operations that do not answer with this status to a variant of their valid request.
 */
async function strangers(
  status: number,
  chosen: (one: Operation) => boolean,
  change: (right: RequestParts, one: Operation) => RequestParts,
  where: (one: Operation) => Promise<string> = (one) => requests.place(one),
): Promise<string[]> {
  const found: string[] = [];
  for (const one of description.operations.filter(chosen)) {
    const requested = change(requests.right(one), one);
    const answer = await requests.ask(one, await where(one), requested);
    if (answer.status !== status) found.push(`${nameOf(one)} ${answer.status}`);
  }
  return found;
}

/** Adds headers to the valid request. */
const withHeaders =
  (headers: Record<string, string>) =>
  (right: RequestParts): RequestParts => ({ ...right, headers: { ...right.headers, ...headers } });

it('returns 503 before the first connection and while the database is unavailable', async () => {
  await requests.furnish();
  link.cut();
  const gone = (one: Operation) => telling(503)(one) && one.path !== '/startupz';
  await expect
    .poll(() =>
      strangers(
        503,
        (one) => telling(503)(one) && isPublic(one),
        (right) => right,
      ),
    )
    .toEqual([]);
  const nothing = async ({ path }: Operation) => path.replaceAll(/\{\w+\}/g, randomUUID());
  // Cached credentials are read again, also on routes that read nothing else.
  server.clock.advance(2_000);
  const typed = async (one: Operation) =>
    /\{(type|number)\}|\/file$/.test(one.path)
      ? requests.place({ ...one, method: 'GET' })
      : nothing(one);
  expect(await strangers(503, gone, (right) => right, typed)).toEqual([]);
  link.mend();
  const ready = async () => (await exchange('GET', `${server.url}/readyz`, undefined, {})).status;
  await expect.poll(ready).toBe(200);
});

it('returns success in the documented form', async () => {
  const isPlain = (one: Operation) => !opensRequest(one) && !isLinkUse(one);
  for (const status of [201, 204, 200]) {
    const succeeding = (one: Operation) => telling(status)(one) && isPlain(one);
    expect(await strangers(status, succeeding, (right) => right)).toEqual([]);
  }
  const user = await ownerOf(server);
  const link = operation('POST', '/v1/admin/users/{id}/sign-in-links');
  const made = await requests.ask(link, link.path.replace('{id}', user), {});
  const code = made.body.url.split('/').at(-1);
  const isSuccess = await strangers(200, isLinkUse, (right) => ({ ...right, body: { code } }));
  expect(isSuccess).toEqual([]);
});

it('returns 304 to a client with the current version', async () => {
  expect(await strangers(304, telling(304), withHeaders({ 'if-none-match': '*' }))).toEqual([]);
});

it('returns 400 to two credentials, and to ambiguous requests', async () => {
  const both = { authorization: 'Bearer a', 'x-gateway-api-key': 'b' };
  const guarded = (one: Operation) => telling(400)(one) && !isPublic(one) && !isLinkUse(one);
  expect(await strangers(400, guarded, withHeaders(both))).toEqual([]);
  const withoutCode = (right: RequestParts): RequestParts => ({ ...right, body: {} });
  expect(await strangers(400, isLinkUse, withoutCode)).toEqual([]);
  for (const one of description.operations.filter(isPublic)) {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.end(`GET ${one.path} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n`);
    const [head, body] = (await text(socket)).split('\r\n\r\n');
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head!)![1]);
    expect(description.faults(one, { status, headers: {}, body: JSON.parse(body!) })).toEqual([]);
    expect([nameOf(one), status]).toEqual([nameOf(one), 400]);
  }
});

it('returns 401 without a credential', async () => {
  const nobody = withHeaders({ authorization: '' });
  expect(await strangers(401, telling(401), nobody)).toEqual([]);
});

it('returns 402 to a key with an exhausted budget, wherever keys are accepted', async () => {
  const { key } = await exhaustedKey(server);
  const spent = withHeaders({ 'x-gateway-api-key': key });
  // The budget is checked first.
  const nowhere = async ({ path }: Operation) => path.replaceAll(/\{\w+\}/g, () => randomUUID());
  expect(await strangers(402, telling(402), spent, nowhere)).toEqual([]);
  const takingKeys = description.operations.filter((one) => one.path.startsWith('/v1/configs'));
  expect(takingKeys.filter((one) => !telling(402)(one))).toEqual([]);
});

it('returns 403 without the scope', async () => {
  const account = await addServiceAccount(server, 'auditor:1234567890');
  const token = await fetchToken(server.url, { ...account, tsgId: server.tsgId });
  const roleless = withHeaders({ authorization: `Bearer ${token}` });
  const isScoped = (one: Operation) => telling(403)(one) && !isLinkUse(one);
  expect(await strangers(403, isScoped, roleless)).toEqual([]);
  const foreign = withHeaders({ origin: 'https://elsewhere.example.com' });
  expect(await strangers(403, isLinkUse, foreign)).toEqual([]);
});

it('returns 404 for an unknown object, wherever it is named', async () => {
  const isItem = ({ path }: Operation) =>
    /\{(?!type|subType|owner|group|graph|part|key|chart|dimension)\w+\}/.test(path);
  const nowhere = async ({ path }: Operation) =>
    path.replaceAll(/\{(\w+)\}/g, (_, name) => (name === 'number' ? '999' : randomUUID()));
  const named = (one: Operation) => telling(404)(one) && isItem(one);
  expect(await strangers(404, named, (right) => right, nowhere)).toEqual([]);
  const workspace_id = randomUUID();
  const elsewhere = (
    { body, ...right }: RequestParts,
    { queries, path }: Operation,
  ): RequestParts => {
    // Some lists refuse parameters that they do not describe.
    const names = ['workspace_id', 'organisation_id'].filter((name) => name in queries);
    const places = names.map((name) => `${name}=${workspace_id}`).join('&');
    const query = `${right.query || '?'}&${places}`;
    if (body === undefined) return { ...right, query };
    // Objects of the organisation alone belong to no workspace.
    const above = ['secret_path', 'workspaces', 'deployment_config'];
    const isAbove = path.endsWith('/tsgs') || above.some((field) => field in (body as object));
    const place = isAbove ? 'organisation_id' : 'workspace_id';
    return { ...right, body: { ...(body as object), [place]: workspace_id } };
  };
  const mayBePlaced = (one: Operation) =>
    one.takesBody && one.method !== 'DELETE' && 'workspace_id' in one.queries;
  const placedByQuery = ({ body, ...right }: RequestParts): RequestParts => {
    const { workspace_id: _, ...unplaced } = body as Record<string, unknown>;
    return { ...right, query: `?workspace_id=${workspace_id}`, body: unplaced };
  };
  expect(await strangers(404, mayBePlaced, placedByQuery)).toEqual([]);
  const isOfOwner = ({ path }: Operation) => path.endsWith('/suspensions');
  const ofNobody = ({ body }: RequestParts): RequestParts =>
    body === undefined
      ? { query: '?owner=nobody' }
      : { body: { ...(body as object), owner: 'nobody' } };
  expect(await strangers(404, isOfOwner, ofNobody)).toEqual([]);
  const isOther = (one: Operation) => isOfOwner(one) || isProposal(one);
  const listed = (one: Operation) => telling(404)(one) && !isItem(one) && !isOther(one);
  expect(await strangers(404, listed, elsewhere)).toEqual([]);
  const ofUnmanaged = ({ body, ...right }: RequestParts): RequestParts => ({
    ...right,
    query: right.query === '' ? '' : `?kind=Config&id=${randomUUID()}`,
    body: body && { ...body, id: randomUUID() },
  });
  expect(await strangers(404, isProposal, ofUnmanaged)).toEqual([]);
});

it('returns 409 to proposals without a copy of the source', async () => {
  const { db } = server.database;
  const [row] = await db.selectFrom('sync_sources').selectAll().execute();
  await db.deleteFrom('sync_sources').execute();
  expect(await strangers(409, isProposal, (right) => right)).toEqual([]);
  await db.insertInto('sync_sources').values(row!).execute();
});

it('returns 404 to another tenant, byte for byte as for an unknown object', async () => {
  const { send } = await addTenant(server, 'strangers');
  const id = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
  // For operations on every mount, the one on v2.
  const isOnce = ({ path }: Operation) => !/^\/(?:v1(?!\/scim)|admin\/)/.test(path);
  let requested = 0;
  for (const one of description.operations.filter(isOnce)) {
    const theirs = await requests.place({ ...one, method: 'GET' });
    if (isPublic(one) || theirs.match(id) === null) continue;
    const { body, query = '' } = requests.right(one);
    const ask = async (path: string) => {
      const answer = await send(one.method, path + query, { body });
      return [nameOf(one), answer.status, JSON.stringify(answer.body)];
    };
    const unknown = await ask(theirs.replaceAll(id, () => randomUUID()));
    expect(unknown[1]).toBe(404);
    expect(await ask(theirs)).toEqual(unknown);
    requested += 1;
  }
  expect(requested).toBeGreaterThan(100);
});

it('returns 409 to a reused Idempotency-Key, a missing lease, and a lease of another holder', async () => {
  const isApproval = ({ path }: Operation) => path.endsWith('/definitions/approve');
  const isPost = (one: Operation) =>
    telling(409)(one) &&
    one.method === 'POST' &&
    ![isApproval, isSignInLink, isProposal].some((is) => is(one));
  const used = withHeaders({ 'idempotency-key': randomUUID() });
  const first = description.operations.find((one) => one.path === '/v2/workspaces')!;
  await requests.ask(operation('POST', first.path), first.path, used({ body: { name: 'one' } }));
  expect(await strangers(409, (one) => isPost(one) && one.path !== first.path, used)).toEqual([]);
  const another = used({ body: { name: 'another' } });
  await requests.ask(operation('POST', first.path), first.path, another);
  // An approval that changes nothing is no write of the owner.
  const isOwned = (one: Operation) =>
    one.headers.includes('gatewright-owner') && !isPost(one) && !isApproval(one);
  const unheld = withHeaders({ 'gatewright-owner': 'nobody', 'gatewright-fence': '1' });
  expect(await strangers(409, isOwned, unheld)).toEqual([]);
  const isLease = (one: Operation) => telling(409)(one) && one.path.includes('/leases/');
  expect(await strangers(200, isLease, (right) => right)).toEqual([]);
  const run_id = randomUUID();
  const other = (right: RequestParts) => ({
    ...right,
    body: { ...(right.body as object), run_id },
  });
  expect(await strangers(409, isLease, other)).toEqual([]);
});

const isSignInLink = ({ path }: Operation): boolean => path.endsWith('/sign-in-links');

it('returns 409 to a sign-in link for an inactive user', async () => {
  const id = await addUser(server, { status: 'inactive' });
  const there = async (one: Operation) => one.path.replace(/\{\w+\}/, id);
  expect(await strangers(409, isSignInLink, (right) => right, there)).toEqual([]);
});

it('returns 409 to an approval of an older definition', async () => {
  const isApproval = (one: Operation) => one.path.endsWith('/definitions/approve');
  const older = (right: RequestParts) => {
    const { definitions } = right.body as { definitions: object[] };
    const digest = `sha256:${'0'.repeat(64)}`;
    return { ...right, body: { definitions: definitions.map((one) => ({ ...one, digest })) } };
  };
  expect(await strangers(409, isApproval, older)).toEqual([]);
});

it('returns 409 to a change of the organisation owner, and to cancelling an accepted invite', async () => {
  const { organisationId, database } = server;
  const about = (part: string, id: string) =>
    strangers(
      409,
      (one) => telling(409)(one) && one.method !== 'POST' && one.path.endsWith(`/${part}/{id}`),
      (right) => right,
      async (one) => one.path.replace(/\{\w+\}/, id),
    );
  expect(await about('admin/users', await ownerOf({ database, organisationId }))).toEqual([]);
  const email = `${randomUUID()}@example.com`;
  const invites = operation('POST', '/v1/admin/users/invites');
  const made = await requests.ask(invites, invites.path, { body: { email, role: 'member' } });
  await database.db
    .updateTable('user_invites')
    .set({ status: 'accepted' })
    .where('organisation_id', '=', organisationId)
    .where('id', '=', made.body.id)
    .execute();
  expect(await about('admin/users/invites', made.body.id)).toEqual([]);
});

it('returns 409 to an update, deletion or download of a running export', async () => {
  const cancels = operation('POST', '/v2/logs/exports/{exportId}/cancel');
  const id = (await requests.place(cancels)).split('/').at(-2)!;
  const isOfExport = (one: Operation) =>
    telling(409)(one) && one.method !== 'POST' && one.path.includes('/logs/exports/{exportId}');
  const there = async (one: Operation) => one.path.replace(/\{\w+\}/, id);
  expect(await strangers(409, isOfExport, (right) => right, there)).toEqual([]);
});

it('returns 409 to a directory that removes the owner, and to a name that is taken', async () => {
  const { organisationId, database } = server;
  const collide = (part: string, id: string, content: Record<string, unknown>) =>
    strangers(
      409,
      (one) => telling(409)(one) && one.path.endsWith(`/scim/v2/${part}/{id}`),
      (right, { method }) => {
        const Operations = Object.entries(content).map(([path, value]) => ({
          op: 'replace',
          path,
          value,
        }));
        if (method === 'PATCH') return { ...right, body: { Operations } };
        return method === 'PUT'
          ? { ...right, body: { ...(right.body as object), ...content } }
          : right;
      },
      async (one) => one.path.replace(/\{\w+\}/, id),
    );
  const owner = await ownerOf({ database, organisationId });
  expect(await collide('Users', owner, { active: false })).toEqual([]);
  const groups = operation('POST', '/v1/scim/v2/Groups');
  await requests.ask(groups, groups.path, { body: { displayName: 'taken' } });
  expect(await collide('Groups', requests.ids.Groups!, { displayName: 'taken' })).toEqual([]);
});

it('returns 409 to a suspension above the maximum per owner', async () => {
  const { db } = server.database;
  const rows = Array.from({ length: suspensionsMax }, (_, at) => ({
    organisation_id: server.organisationId,
    owner: 'recorder',
    workspace: `w${at}`,
    until: null,
    reason: 'many',
    suspended_by: 'test',
    suspended_at: 0,
  }));
  await db.deleteFrom('sync_suspensions').execute();
  await db.insertInto('sync_suspensions').values(rows).execute();
  const isSuspension = (one: Operation) => telling(409)(one) && one.path.endsWith('/suspensions');
  expect(await strangers(409, isSuspension, (right) => right)).toEqual([]);
  await db.deleteFrom('sync_suspensions').execute();
});

it('returns 412 to a stale version wherever If-Match is documented, and nowhere else', async () => {
  const older = withHeaders({ 'if-match': '"999"' });
  expect(await strangers(412, telling(412), older)).toEqual([]);
  const honouring = description.operations.filter((one) => one.headers.includes('If-Match'));
  expect(honouring).toEqual(description.operations.filter(telling(412)));
  const isChange = (one: Operation) => one.method === 'PUT' && !telling(412)(one);
  expect(await strangers(200, isChange, older)).toEqual([]);
});

it('returns 413 and 415 to bodies of a wrong size or type', async () => {
  const keys = Array.from({ length: 1001 }, (_, at) => `k${at}`);
  const large = (right: RequestParts, one: Operation): RequestParts => ({
    ...right,
    body: isToken(one)
      ? keys
          .map((key) => `${key}=`)
          .join('&')
          .repeat(9)
      : Object.fromEntries(keys.map((key) => [key, 0])),
  });
  expect(await strangers(413, telling(413), large)).toEqual([]);
  const foreign = (right: RequestParts): RequestParts => ({
    ...withHeaders({ 'content-type': 'text/plain' })(right),
    body: 'a',
  });
  expect(await strangers(415, telling(415), foreign)).toEqual([]);
});

it('returns 422 to a change set with a rejected change', async () => {
  const body = { mode: 'atomic', changes: [{ kind: 'Config', action: 'create', body: {} }] };
  expect(await strangers(422, telling(422), (right) => ({ ...right, body }))).toEqual([]);
});

it('returns 429 to repeated guesses', async () => {
  const wrong = (one: Operation): RequestParts =>
    isLinkUse(one)
      ? requests.right(one)
      : isToken(one)
        ? { body: requests.right(one).body, headers: requests.client('wrong') }
        : { body: { keys: [{ id: randomUUID(), value: 'a' }] } };
  const guesses = (one: Operation) => telling(429)(one) && !isProposal(one);
  for (const one of description.operations.filter(guesses)) {
    const statuses = new Set<number>();
    for (let tries = 0; tries < 25; tries += 1) {
      statuses.add((await requests.ask(one, one.path, wrong(one))).status);
    }
    expect([nameOf(one), statuses.has(429)]).toEqual([nameOf(one), true]);
  }
});

it('returns 429 to proposals while too many are planned', async () => {
  for (const one of description.operations.filter(isProposal)) {
    const all = Array.from({ length: 25 }, () => requests.ask(one, one.path, requests.right(one)));
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    expect([nameOf(one), statuses.includes(429)]).toEqual([nameOf(one), true]);
  }
});

it('returns 500 when the tables are missing', async () => {
  const { db } = server.database;
  const tablesOf = new Map<string, string[]>();
  for (const schema of schemaNames(server.settings.database!)) {
    const { rows } = await sql<{ name: string }>`SELECT table_name AS name
      FROM information_schema.tables WHERE table_schema = ${schema}`.execute(db);
    tablesOf.set(
      schema,
      rows.map(({ name }) => name),
    );
  }
  const places = new Map<Operation, string>();
  const reads = (one: Operation) => !isPublic(one) || one.path.endsWith('/file');
  const failing = (one: Operation) => telling(500)(one) && reads(one);
  for (const one of description.operations.filter(failing)) {
    places.set(one, await requests.place({ ...one, method: 'GET' }));
  }
  const rename = async (from: string, to: string) => {
    for (const [schema, names] of tablesOf) {
      const table = (name: string) => sql.table(`${schema}.${name}`);
      const moves = names.map((name) => sql`${table(name + from)} TO ${table(name + to)}`);
      await sql`RENAME TABLE ${sql.join(moves)}`.execute(db);
    }
  };
  await rename('', '_away');
  server.clock.advance(2_000);
  const there = async (one: Operation) => places.get(one)!;
  expect(await strangers(500, failing, (right) => right, there)).toEqual([]);
  await rename('_away', '');
});

it('documents no response that never occurs', () => {
  // Probes, this document and the public price list read nothing that could fail in its own way.
  const prices = ['', '/v1', '/v2'].map(
    (base) => `${base}/model-configs/pricing/{provider}/{model}`,
  );
  const probes = ['/livez', '/readyz', '/startupz', '/openapi.json'];
  const neverSeen = [...probes, ...prices].map((path) => `GET ${path} 500`);
  const opening = description.operations.filter(opensRequest).map((one) => `${nameOf(one)} 200`);
  expect(description.unseen().toSorted()).toEqual([...neverSeen, ...opening].toSorted());
});

function operation(method: string, path: string): Operation {
  return description.operations.find((one) => nameOf(one) === nameOf({ method, path }))!;
}
