/**
 * Verifies that concurrent changes of the same resources at two servers are applied completely or
 * rejected.
 */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type App, createApp } from '../../../src/app.ts';
import { verifyChain } from '../../../src/commands/server/audit-chain.ts';
import { createLog } from '../../../src/log.ts';
import { checkConsistency } from '../../../src/store/consistency.ts';
import { DrawnValues } from '../../support/interface/generated-values.ts';
import { Description, type Operation, onOneMount } from '../../support/interface/response-check.ts';
import { filled, isToken, RightRequests } from '../../support/interface/valid-requests.ts';
import { exchange, type TestResponse } from '../../support/network/exchange.ts';
import { isLong, seed } from '../../support/run/test-effort.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

/** Concurrent writers at each server. */
const writers = isLong ? 50 : 5;
const requestsEach = isLong ? 15 : 5;
/** Number of objects of each kind to change; new ones take their place. */
const sharedMax = 3;

let server: TestServer;
let other: App;
let urls: string[];
let token: string;
let requests: RightRequests;
let operations: readonly Operation[];
let drawn: DrawnValues;
const shared = new Map<string, string[]>();

beforeAll(async () => {
  server = await startTestServer();
  const { clock } = server;
  const log = createLog({ level: 'silent' });
  const readSharedTime = async () => clock.now();
  other = await createApp(server.settings, { clock, readSharedTime, log, components: ['admin'] });
  urls = [server.url, (await other.listen()).adminUrl!];
  token = await server.token();
  const document = await exchange('GET', `${server.url}/openapi.json`, undefined, {});
  const description = new Description(document.body);
  drawn = new DrawnValues(description.schemas);
  requests = new RightRequests(server, description, token, () => {});
  await requests.furnish();
  for (const [kind, id] of Object.entries(requests.ids)) shared.set(kind, [id]);
  operations = onOneMount(description.operations, seed).filter(
    (one) => one.method !== 'GET' && one.statuses.includes('401') && !isToken(one) && isWrite(one),
  );
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/**
 * Excludes what a credential or a run does itself, what sends mail, and what would delete
 * everything.
 */
const isWrite = ({ method, path }: Operation): boolean =>
  !/session|\/sync\/|\/leases|key-proofs|\/resend|\/exports|\/logs|\/render|\/test$|\/organisations/.test(
    path,
  ) && !(method === 'DELETE' && /\/workspaces\/\{\w+\}$/.test(path));

/** Update bodies beside the name: other states, and where a default applies. */
const variants: readonly object[] = [
  { status: 'archived' },
  { status: 'active' },
  { isDefault: 1 },
  { is_default: true },
  { is_default: false },
  { description: 'one' },
  { reset_usage: true },
  { workspaces: [] },
  {},
];

interface SentChange {
  readonly name: string;
  readonly requestId: string;
  readonly answer: TestResponse;
}

type Draw = <T>(values: readonly T[]) => T;

const collectionOf = (path: string) => path.split('/').findLast((part) => !part.startsWith('{'))!;

function bodyOf(one: Operation, draw: Draw): unknown {
  for (const [kind, ids] of shared) requests.ids[kind] = draw(ids);
  if (one.path.endsWith('/changes')) return setOf(draw);
  const { body } = requests.right(one);
  if (typeof body !== 'object' || body === null) return body;
  const isUpdate = one.method === 'PUT' && one.path.endsWith('}');
  if (isUpdate) {
    const known = new Set(drawn.fieldsOf(one.schema!).map(([name]) => name));
    const fit = variants.filter((fields) => Object.keys(fields).every((name) => known.has(name)));
    return { ...body, ...draw(fit) };
  }
  const isDefault = draw([true, false, false]);
  if (one.path.endsWith('/configs')) return { ...body, isDefault: Number(isDefault) };
  return one.path.endsWith('/deployments') ? { ...body, is_default: isDefault } : body;
}

/** Several changes in one transaction, each of another kind, in random order. */
function setOf(draw: Draw): unknown {
  const { ids } = requests;
  const changes = [
    { kind: 'Config', action: 'update', id: ids.configs, body: { name: randomUUID() } },
    { kind: 'Guardrail', action: 'update', id: ids.guardrails, body: { name: randomUUID() } },
    { kind: 'Config', action: 'create', body: { name: 'one', config: {}, isDefault: 1 } },
    { kind: 'Prompt', action: 'update', id: ids.prompts, body: { name: randomUUID() } },
    { kind: 'McpServer', action: 'update', id: ids['mcp-servers'], body: { name: 'one' } },
    { kind: 'Workspace', action: 'update', id: ids.workspaces, body: { name: randomUUID() } },
    { kind: 'Deployment', action: 'update', id: ids.deployments, body: { is_default: true } },
    { kind: 'Provider', action: 'update', id: ids.providers, body: { name: randomUUID() } },
  ];
  const from = draw([0, 1, 2, 3, 4, 5, 6, 7]);
  const turned = [...changes.slice(from), ...changes.slice(0, from)].slice(0, 4);
  return { mode: 'atomic', changes: draw([true, false]) ? turned : turned.toReversed() };
}

async function write(one: Operation, url: string, draw: Draw): Promise<SentChange> {
  const body = bodyOf(one, draw);
  const place = filled(one.path, (resource) => requests.ids[resource] ?? randomUUID());
  const { query = '', headers } = requests.right(one);
  const requestId = randomUUID();
  const bearer = { authorization: `Bearer ${token}`, 'x-request-id': requestId };
  const answer = await exchange(one.method, url + place + query, body, { ...bearer, ...headers });
  keep(one, place, answer);
  return { name: `${one.method} ${one.path}`, requestId, answer };
}

/** Adds a created object to those that are changed, and removes a deleted one except the last. */
function keep(one: Operation, place: string, answer: TestResponse): void {
  const id = answer.body?.id;
  if (answer.status === 404 || (one.method === 'DELETE' && answer.status < 300)) {
    for (const ids of shared.values()) {
      const gone = ids.findIndex((known) => place.endsWith(known));
      if (gone >= 0 && ids.length > 1) ids.splice(gone, 1);
    }
  }
  if (one.method === 'POST' && answer.status < 300 && typeof id === 'string') {
    const kind = collectionOf(one.path);
    const ids = shared.get(kind);
    if (ids?.[0] !== undefined && !one.path.endsWith('}')) {
      ids.push(id);
      if (ids.length > sharedMax) ids.shift();
    }
  }
}

it('completes or rejects every concurrent change at two servers', async () => {
  const sent: SentChange[] = [];
  const numbers = fc.sample(fc.nat(), { numRuns: 10_000, seed });
  let at = 0;
  const draw: Draw = (values) => values[numbers[at++ % numbers.length]! % values.length]!;
  const groups = Map.groupBy(operations, ({ method, path }) =>
    path.endsWith('/changes') ? 'set' : method,
  );
  // Deletes are rarer than creates, so that there is something to change.
  const order = ['PUT', 'PUT', 'PUT', 'PUT', 'POST', 'POST', 'set', 'set', 'DELETE', 'PATCH'];
  const writer = async (url: string) => {
    for (let made = 0; made < requestsEach; made += 1) {
      sent.push(await write(draw(groups.get(draw(order))!), url, draw));
    }
  };
  await Promise.all(
    urls.flatMap((url) => Array.from({ length: writers }, async () => writer(url))),
  );
  await expectWhole(sent);
});

/** Applied changes are in the audit log and consistent; rejected ones left nothing. */
async function expectWhole(sent: readonly SentChange[]): Promise<void> {
  const failed = sent.filter(({ answer }) => answer.status >= 500);
  expect(failed.map(({ name, answer }) => `${name} ${JSON.stringify(answer.body)}`)).toEqual([]);
  const { db } = server.database;
  const rows = await db
    .selectFrom('audit_log')
    .select(['request_id', 'action', 'resource_kind'])
    .where('organisation_id', '=', server.organisationId)
    .execute();
  const reported = new Set(rows.map(({ request_id }) => request_id));
  const halfDone = sent.filter(
    ({ requestId, answer }) => answer.status >= 400 && reported.has(requestId),
  );
  expect(halfDone.map(({ name, answer }) => `${name} ${answer.status}`)).toEqual([]);
  const unheard = sent.filter(
    ({ name, requestId, answer }) =>
      answer.status < 300 && !reported.has(requestId) && /^DELETE .*\}$/.test(name),
  );
  expect(unheard.map(({ name, answer }) => `${name} ${answer.status}`)).toEqual([]);
  expect((await checkConsistency(server.database)).found).toEqual([]);
  await server.app.jobs.runNow('seal-audit-log');
  const { organisationId } = server;
  const key = server.app.keyring.auditKey(organisationId);
  const { signal } = new AbortController();
  const chain = await verifyChain(db, key, organisationId, { head: null, signal });
  expect([chain.faults, chain.unsealed]).toEqual([[], 0]);
}
