/**
 * Verifies that an id of another tenant gets byte for byte the same response as an id that does not
 * exist.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { allScopes } from '../../../src/model/people/scopes.ts';
import { bootstrapTenant } from '../../../src/store/bootstrap.ts';
import { asBearer, asKey } from '../../support/callers/offered-credential.ts';
import {
  Description,
  nameOf,
  type Operation,
  onOneMount,
} from '../../support/interface/response-check.ts';
import { isToken, RightRequests } from '../../support/interface/valid-requests.ts';
import { exchange } from '../../support/network/exchange.ts';
import { comparableResponse, type RawAnswer, RawClient } from '../../support/network/raw-client.ts';
import { isLong, seed } from '../../support/run/test-effort.ts';
import { ownerOf } from '../../support/server/people.ts';
import { fetchToken, startTestServer, type TestServer } from '../../support/server/server.ts';
import { addSession, signedInSettings } from '../../support/server/sessions.ts';
import { addKeyCaller, boundToken, unknownLike } from '../../support/server/tenant.ts';

type Headers = Readonly<Record<string, string>>;

/** A request as text, so that the ids in it can be replaced wherever they occur. */
interface RequestTemplate {
  readonly method: string;
  readonly target: string;
  readonly body: string | undefined;
}

let server: TestServer;
let client: RawClient;
let operations: readonly Operation[];
let requests: RightRequests;
let others: RightRequests;

beforeAll(async () => {
  const log = createLog({ level: 'fatal' });
  server = await startTestServer({ settings: signedInSettings, log });
  client = new RawClient(server.url);
  const document = await exchange('GET', `${server.url}/openapi.json`, undefined, {});
  const description = new Description(document.body);
  const guarded = description.operations.filter(
    (one) => one.statuses.includes('401') && !isToken(one),
  );
  operations = isLong ? guarded : onOneMount(guarded, seed);
  requests = await furnished(server, description);
  // Each job runs at most once at one time of the clock.
  server.clock.advance(60_000);
  others = await furnished(await anotherTenant(), description);
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

async function furnished(of: TestServer, description: Description): Promise<RightRequests> {
  const made = new RightRequests(of, description, await of.token(), (faults) =>
    expect(faults).toEqual([]),
  );
  await made.furnish();
  return made;
}

/** Returns the same server as seen by another organisation. */
async function anotherTenant(): Promise<TestServer> {
  const { app, clock, database, url } = server;
  const tenant = await bootstrapTenant(database, {
    keyring: app.keyring,
    name: 'other',
    apiKeyPrefix: '',
    now: clock.now(),
  });
  const clientSecret = tenant.clientSecret.reveal();
  const organisationApiKey = tenant.organisationApiKey.reveal();
  const token = await fetchToken(url, { ...tenant, clientSecret });
  return {
    ...server,
    ...tenant,
    clientSecret,
    organisationApiKey,
    token: async () => token,
    request: async (method, path, { body, headers = {} } = {}) =>
      exchange(method, url + path, body, { ...asBearer(token), ...headers }),
  };
}

/** Builds a valid request for one operation from the objects of `of`. */
async function rightRequest(of: RightRequests, one: Operation): Promise<RequestTemplate> {
  const path = await of.place({ ...one, method: 'GET' });
  const { body, query = '' } = of.right(one);
  const references = {
    workspace_id: of.ids.workspaces!,
    organisation_id: of.server.organisationId,
  };
  const places = new URLSearchParams(
    Object.entries(references).filter(([field]) => field in one.queries),
  );
  return {
    method: one.method,
    target: path + (query || `?${places}`),
    body: body === undefined ? undefined : JSON.stringify(body),
  };
}

/** Ids by the kind of object, without those that every tenant has. */
function namesOf({ ids, server: { organisationId, tsgId } }: RightRequests) {
  const { versions, ResourceTypes, Schemas, organisations, ...own } = ids;
  return { ...own, organisationId, tsgId } as Readonly<Record<string, string>>;
}

/** Like {@link namesOf}, for objects that have a slug beside their id. */
async function slugsOf({ ids, server: of }: RightRequests): Promise<Record<string, string>> {
  const items = operations.filter(
    ({ method, path }) => method === 'GET' && /^[^{]+\/\{\w+\}$/.test(path),
  );
  const found: Record<string, string> = {};
  for (const { path } of items) {
    const [part = ''] = path.split('/').slice(-2);
    const { body } = await of.request('GET', path.replace(/\{\w+\}/, ids[part] ?? ''));
    if (typeof body.slug === 'string') found[part] = body.slug;
  }
  return found;
}

function withNames(
  { target, body, ...requested }: RequestTemplate,
  pairs: readonly [string, string][],
): RequestTemplate {
  const change = (text: string) =>
    pairs.reduce((changed, [from, to]) => changed.replaceAll(from, to), text);
  return { ...requested, target: change(target), body: body && change(body) };
}

const isNamed = ({ target, body = '' }: RequestTemplate, name: string) =>
  target.includes(name) || body.includes(name);

async function ask(
  { method, target, body }: RequestTemplate,
  headers: Headers,
): Promise<RawAnswer> {
  const type = { 'content-type': 'application/json', ...headers };
  return client.send({ method, target, headers: type, body });
}

/** Generated ids and slugs of new objects, which differ between two responses. */
const anew = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|-[0-9a-f]{6}(?=\\")/g;

/** Returns null when both responses are the same apart from the name that was sent. */
function differenceOf(
  one: Operation,
  [foreign, unknown]: readonly [RawAnswer, RawAnswer],
  pairs: readonly [string, string][],
): string | null {
  const renamed = pairs.reduce(
    (text, [from, to]) => text.replaceAll(to, from),
    comparableResponse(unknown),
  );
  const [was, is] = [comparableResponse(foreign), renamed].map((text) =>
    foreign.status < 300 ? text.replaceAll(anew, '') : text,
  );
  return was === is ? null : `${nameOf(one)}\n foreign: ${was}\n unknown: ${is}`;
}

it('returns the response for an unknown id when a valid request names an id of another organisation', async () => {
  const { organisationId, app, clock, database, organisationApiKey } = others.server;
  const owner = await ownerOf({ database, organisationId });
  const session = await addSession({ app, clock, organisationId }, owner);
  const people = [asBearer(await others.server.token()), session.headers];
  const [theirs, slugs] = [namesOf(requests), await slugsOf(requests)];
  const compare = async (one: Operation, headers: Headers) => {
    const faults: (string | null)[] = [];
    for (const [part, name] of Object.entries(namesOf(others))) {
      const requested = await rightRequest(others, one);
      if (!isNamed(requested, name)) continue;
      for (const their of [theirs[part]!, slugs[part] ?? []].flat()) {
        const unknown = unknownLike(their);
        const answers = [
          await ask(withNames(requested, [[name, their]]), headers),
          await ask(withNames(requested, [[name, unknown]]), headers),
        ] as const;
        faults.push(differenceOf(one, answers, [[their, unknown]]));
      }
    }
    return faults;
  };
  const compared = operations.flatMap((one, at) => {
    const strangers = one.path.startsWith('/v1/') ? [...people, asKey(organisationApiKey)] : people;
    return isLong
      ? strangers.map((headers) => compare(one, headers))
      : [compare(one, strangers[(at + seed) % strangers.length]!)];
  });
  const faults = (await Promise.all(compared)).flat();
  expect(faults.length).toBeGreaterThan(operations.length);
  expect(faults.filter((fault) => fault !== null)).toEqual([]);
});

it('returns the response for an unknown id when a workspace credential names an id of another workspace', async () => {
  const made = await server.request('POST', '/v2/workspaces', { body: { name: 'two' } });
  const place = made.body.id as string;
  const { key } = await addKeyCaller(server, allScopes, place);
  const bound = [asBearer(await boundToken(server, place)), asKey(key)];
  const { organisationId, tsgId, ...names } = namesOf(requests);
  // A credential that is open to all workspaces would have access to them as well.
  const closed = await server.request('PUT', `/v2/deployments/${names.deployments}`, {
    body: { auth_settings: { workspaces_allowed: [names.workspaces] } },
  });
  expect([closed.status, closed.body]).toEqual([200, expect.anything()]);
  const compared = operations.map(async (one) => {
    const requested = await rightRequest(requests, one);
    const strange = Object.values(names).filter((name) => name !== organisationId);
    const pairs = strange.map((name): [string, string] => [name, unknownLike(name)]);
    if (!pairs.some(([name]) => isNamed(requested, name))) return null;
    const headers = bound[one.path.startsWith('/v1/') ? 1 : 0]!;
    const answers = [
      await ask(requested, headers),
      await ask(withNames(requested, pairs), headers),
    ] as const;
    return differenceOf(one, answers, pairs);
  });
  expect((await Promise.all(compared)).filter((fault) => fault !== null)).toEqual([]);
});
