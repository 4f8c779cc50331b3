/**
 * Verifies every POST: under one Idempotency-Key it is executed once, and a different request is
 * rejected.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DatabaseLink, startDatabaseLink } from '../../support/database/database-link.ts';
import { everyRoute } from '../../support/interface/every-route.ts';
import { Description, nameOf, type Operation } from '../../support/interface/response-check.ts';
import { type RequestParts, RightRequests } from '../../support/interface/valid-requests.ts';
import { exchange } from '../../support/network/exchange.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

/** POSTs that ignore the key, each with what makes a repetition harmless. */
const keyless = {
  '/oauth2/access_token': 'makes nothing: a second token is as good as the first',
  '/admin/users/:id/sign-in-links':
    'makes another link, because no response with a code is stored; an unused one expires',
  '/gatewright/proposals': 'finds the pull request of the first one by its branch',
  '/gatewright/proposals/preview': 'writes nothing',
  '/guardrails/:guardrailId/test': 'writes nothing',
  '/mcp-integrations/:mcpIntegrationId/sync':
    'writes what the server says now, as often as it is asked',
  '/mcp-integrations/:mcpIntegrationId/definitions/approve':
    'approves what is approved, or is refused because there is a newer definition',
  '/mcp-integrations/:mcpIntegrationId/test': 'writes nothing',
  '/mcp-servers/:mcpServerId/capabilities/sync': 'writes what the server says now',
  '/mcp-servers/:mcpServerId/metadata/sync': 'writes what the server says now',
  '/mcp-servers/:mcpServerId/test': 'writes nothing',
};

/**
 * By the end of the path: a body that differs from the valid one, where it has no name to change.
 */
const others: Record<string, Record<string, unknown>> = {
  '/rotate': { key_transition_period_ms: 1_800_001 },
  '/render': { variables: { a: 'b' } },
  '/usage-limits': { credit_limit: 2 },
  '/rate-limits': { value: 2 },
  '/revisions': { commit: 'b2' },
  '/key-proofs': { keys: [{ value: 'another' }] },
  '/workspaces/{id}/users': { users: [{ id: randomUUID(), role: 'member' }] },
  '/releases': { resources: [{ kind: 'Config', id: randomUUID() }] },
  '/guardrail-exclusions': { input_guardrails: true },
  '/exports': { description: 'another' },
  '/feedback': { value: 2 },
  '/logs': { response: { response_time: 8 } },
  '/changes': { changes: [{ kind: 'Config', action: 'create', body: { name: 'b', config: {} } }] },
};

/** Concurrent requests per operation; idempotency.test.ts sends fifty of one. */
const racing = 20;
let link: DatabaseLink;
let server: TestServer;
let requests: RightRequests;
let posts: readonly Operation[];

beforeAll(async () => {
  link = await startDatabaseLink();
  server = await startTestServer({ between: link.lead });
  const document = await exchange('GET', `${server.url}/openapi.json`, undefined, {});
  const description = new Description(document.body);
  requests = new RightRequests(server, description, await server.token(), (faults) =>
    expect(faults).toEqual([]),
  );
  await requests.furnish();
  const keyed = description.operations.filter(({ headers }) => headers.includes('Idempotency-Key'));
  const paths = new Set(keyed.map(({ path }) => path));
  posts = keyed.filter(({ path }) => {
    const [, mount, rest] = /^\/(v1|admin\/v2)(\/.*)$/.exec(path) ?? [];
    return mount === undefined || !paths.has(`/v2${rest}`);
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await link[Symbol.asyncDispose]();
});

const under = (key: string, right: RequestParts): RequestParts => ({
  ...right,
  headers: { ...right.headers, 'idempotency-key': key },
});

/** Ids of the requests that left a trace. */
async function authors(): Promise<Set<string>> {
  const rows = await server.database.db
    .selectFrom('audit_log')
    .select('request_id')
    // Reading a credential again is a read, not a change.
    .where('action', '!=', 'read')
    .execute();
  return new Set(rows.map((row) => row.request_id));
}

it('evaluates the key for every POST in the registry, or documents why not', () => {
  const described = new Set(posts.map(({ path }) => path.replaceAll(/\{\w+\}/g, ':')));
  const without = everyRoute().filter(
    ({ route, pattern }) =>
      route.method === 'POST' &&
      ![pattern, `/v2${route.path}`].some((path) => described.has(path.replaceAll(/:\w+/g, ':'))),
  );
  expect([...new Set(without.map(({ route }) => route.path))].toSorted()).toEqual(
    Object.keys(keyless).toSorted(),
  );
});

it('executes a POST once when it is sent twenty times concurrently, with one response for all', async () => {
  for (const one of posts) {
    const [place, requested] = [
      await requests.place(one),
      under(randomUUID(), requests.right(one)),
    ];
    const before = await authors();
    const all = Array.from({ length: racing }, () => requests.ask(one, place, requested));
    const answers = await Promise.all(all);
    const fresh = answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined);
    const reported = new Set(answers.map(({ status, body }) => JSON.stringify([status, body])));
    const tags = new Set(answers.map(({ headers }) => headers.etag));
    const traces = (await authors()).difference(before);
    const counts = {
      fresh: fresh.length,
      distinct: reported.size,
      tags: tags.size,
      traces: traces.size,
    };
    expect
      .soft([nameOf(one), answers[0]!.status, counts])
      .toEqual([
        nameOf(one),
        one.statuses.includes('201') ? 201 : 200,
        { fresh: 1, distinct: 1, tags: 1, traces: expect.toBeOneOf([0, 1]) },
      ]);
  }
});

it('returns the original response when a POST with a lost response is repeated', async () => {
  for (const one of posts) {
    const [place, requested] = [
      await requests.place(one),
      under(randomUUID(), requests.right(one)),
    ];
    const before = await authors();
    link.loseNextCommit();
    const lost = await requests.ask(one, place, requested);
    const again = await requests.ask(one, place, requested);
    const { 'idempotency-replayed': replayed } = again.headers;
    const traces = (await authors()).difference(before);
    expect
      .soft([nameOf(one), lost.status, again.status, replayed, traces.size])
      .toEqual([
        nameOf(one),
        503,
        one.statuses.includes('201') ? 201 : 200,
        'true',
        expect.toBeOneOf([0, 1]),
      ]);
  }
});

it('returns 409 without a trace for another body under the same key', async () => {
  for (const one of posts.filter(({ takesBody }) => takesBody)) {
    const [place, right, key] = [await requests.place(one), requests.right(one), randomUUID()];
    const first = await requests.ask(one, place, under(key, right));
    const before = await authors();
    const [, changes] = Object.entries(others).find(([end]) => one.path.endsWith(end)) ?? [];
    const body = {
      ...(requests.right(one).body as object),
      ...('name' in (right.body as object) ? { name: `n${randomUUID()}` } : {}),
      ...changes,
    };
    if (JSON.stringify(body) === JSON.stringify(right.body)) {
      // Its body has no field that could differ.
      expect.soft([nameOf(one), body]).toEqual([nameOf(one), {}]);
      continue;
    }
    const { status, body: responseBody } = await requests.ask(
      one,
      place,
      under(key, { ...right, body }),
    );
    const traces = (await authors()).difference(before);
    const param =
      responseBody.error?.param ?? (one.path.includes('/scim/') ? 'Idempotency-Key' : undefined);
    expect
      .soft([nameOf(one), first.status < 300, status, param, traces.size])
      .toEqual([nameOf(one), true, 409, 'Idempotency-Key', 0]);
  }
});
