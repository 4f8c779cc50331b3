/**
 * Verifies every documented operation with requests generated from its schema: valid, invalid in
 * one place, and hostile.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { asBearer } from '../../support/callers/offered-credential.ts';
import { DrawnValues, type Wrong, withWrong } from '../../support/interface/generated-values.ts';
import {
  Description,
  nameOf,
  type Operation,
  onOneMount,
} from '../../support/interface/response-check.ts';
import { isToken, RightRequests } from '../../support/interface/valid-requests.ts';
import { exchange } from '../../support/network/exchange.ts';
import {
  hostileParts,
  hostileTexts,
  hostileTypes,
  hostileValues,
} from '../../support/network/hostile-texts.ts';
import { type RawAnswer, RawClient } from '../../support/network/raw-client.ts';
import { isLong, seed } from '../../support/run/test-effort.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

let server: TestServer;
let client: RawClient;
let operations: readonly Operation[];
let requests: RightRequests;
let drawn: DrawnValues;
let token: string;
const faultsLogged: string[] = [];

beforeAll(async () => {
  const write = (line: string) => faultsLogged.push(line);
  server = await startTestServer({ log: createLog({ level: 'error', destination: { write } }) });
  client = new RawClient(server.url);
  const document = await exchange('GET', `${server.url}/openapi.json`, undefined, {});
  const description = new Description(document.body);
  drawn = new DrawnValues(description.schemas);
  const guarded = description.operations.filter(
    (one) => one.statuses.includes('401') && !isToken(one) && !one.path.endsWith('/session'),
  );
  operations = onOneMount(guarded, seed);
  token = await server.token();
  requests = new RightRequests(server, description, token, (faults) => expect(faults).toEqual([]));
  await requests.furnish();
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

interface SentRequest {
  readonly target: string;
  readonly body?: string | Buffer | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

function send(
  { method }: Operation,
  { target, body, headers = {} }: SentRequest,
): Promise<RawAnswer> {
  const usual = { ...asBearer(token), 'content-type': 'application/json' };
  return client.send({ method, target, headers: { ...usual, ...headers }, body });
}

/**
 * Selects this many of the cases of an operation, others for each seed; all of them in a long run.
 */
function some<T>(all: readonly T[], count: number, one: Operation): readonly T[] {
  if (isLong || all.length <= count) return all;
  const random = fc.sample(fc.shuffledSubarray([...all], { minLength: count, maxLength: count }), {
    numRuns: 1,
    seed: seed ^ nameOf(one).length,
  });
  return random[0]!;
}

/**
 * Statuses that are possible beside the documented ones: for ambiguous requests and for paths of
 * other routes.
 */
const everywhere = [400, 404, 405, 413, 415];

/** Whether the response is documented for the operation, and not a server error. */
function isSound(one: Operation, { status, body }: RawAnswer): boolean {
  if (status >= 500) return false;
  if (!one.statuses.includes(String(status)) && !everywhere.includes(status)) return false;
  if (status < 400) return true;
  const { success, error, detail, schemas, data } = JSON.parse(body);
  const members = [error?.message, error?.type, error?.param, error?.code];
  const isWrapped =
    success === false &&
    error?.message !== '' &&
    members.every((member) => typeof member === 'string');
  // Bulk operations report each change separately, and SCIM has its own error format.
  const isOfSet = status === 422 && Array.isArray(data);
  return isWrapped || isOfSet || (typeof detail === 'string' && Array.isArray(schemas));
}

const textOf = (path: Wrong['path']): string =>
  path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}.${key}`),
    '',
  );
/** The path as error messages write it. */
const pathInMessage = (path: Wrong['path']): string => textOf(path).replace(/^\./, '');

/**
 * Sends the requests that `try` builds for each operation, and returns the faults of the responses.
 */
async function faultsOf(
  of: readonly Operation[],
  tries: (one: Operation, at: string) => Promise<(string | null)[]>,
): Promise<string[]> {
  const found = of.map(async (one) => {
    const at = await requests.place({ ...one, method: 'GET' });
    return (await tries(one, at)).map((fault) => fault && `${nameOf(one)} ${fault}`);
  });
  return (await Promise.all(found)).flat().filter((fault) => fault !== null);
}

const describeFault = (what: string, { status, body }: RawAnswer) =>
  `${what}: ${status} ${body}`.slice(0, 600);

it('returns 400 with the position for a body that is invalid in one place', async () => {
  let count = 0;
  const withBody = operations.filter(({ schema }) => schema !== undefined);
  const faults = await faultsOf(withBody, async (one, at) => {
    const right = requests.right(one);
    const wrongs = some(drawn.wrongs(one.schema!), 8, one);
    const tried = wrongs.map(async (wrong) => {
      count += 1;
      const body = JSON.stringify(withWrong(right.body ?? {}, wrong));
      const target = at + (right.query ?? '');
      const answer = await send(one, { target, body, headers: right.headers });
      const place = pathInMessage(wrong.path);
      const isRefused = answer.status === 400 && answer.body.includes(place);
      return isRefused ? null : describeFault(`${place} ${wrong.fault}`, answer);
    });
    return Promise.all(tried);
  });
  expect(count).toBeGreaterThan(300);
  expect(faults).toEqual([]);
});

it('accepts a body that matches its schema, or rejects it with a reason', async () => {
  const changing = operations.filter(
    ({ method, schema }) => schema !== undefined && method !== 'DELETE',
  );
  const faults: string[] = [];
  for (const one of changing) {
    const fields = drawn.fieldsOf(one.schema!);
    if (fields.length === 0) continue;
    const field = fc.constantFrom(...fields);
    const overlay = field.chain(([name, schema]) =>
      fc.tuple(fc.constant(name), drawn.right(schema, 1)),
    );
    for (const [name, value] of fc.sample(overlay, { numRuns: isLong ? 40 : 1, seed })) {
      const place = await requests.place(one);
      const right = requests.right(one);
      const body = JSON.stringify({ ...(right.body as object), [name]: value });
      const target = place + (right.query ?? '');
      const answer = await send(one, { target, body, headers: right.headers });
      const hasReason = answer.status !== 400 || answer.body.includes('Request Validation Error: ');
      const isFine = isSound(one, answer) && hasReason;
      if (!isFine) faults.push(`${nameOf(one)} ${describeFault(body, answer)}`);
    }
  }
  expect(faults).toEqual([]);
});

it('answers a hostile body in the common error format', async () => {
  const withBody = operations.filter(({ schema }) => schema !== undefined);
  const faults = await faultsOf(withBody, async (one, target) => {
    const names = drawn.fieldsOf(one.schema!).map(([name]) => name);
    const values = Object.entries(hostileValues).map(([what, text], at) => {
      const name = names[(at + seed) % Math.max(names.length, 1)] ?? 'name';
      return { what: `${what} at ${name}`, body: `{"${name}":${text}}` };
    });
    const whole = Object.entries(hostileTexts).map(([what, body]) => ({ what, body }));
    const typed = hostileTypes.map((headers) => ({
      what: JSON.stringify(headers),
      body: '{}',
      headers,
    }));
    const tried = some([...values, ...whole, ...typed], 6, one).map(async ({ what, ...sent }) => {
      const answer = await send(one, { target, ...sent });
      const isTyped = 'headers' in sent;
      const isFine = isSound(one, answer) && (!isTyped || answer.status === 415);
      return isFine ? null : describeFault(what, answer);
    });
    return Promise.all(tried);
  });
  expect(faults).toEqual([]);
  expect(faultsLogged).toEqual([]);
});

it('names the invalid parameter of a query, and never fails with a server error', async () => {
  const asking = operations.filter(({ queries }) => Object.keys(queries).length > 0);
  const faults = await faultsOf(asking, async (one, at) => {
    const wrongs = Object.entries(one.queries).flatMap(([name, schema]) =>
      drawn
        .wrongs(schema, [name])
        .filter(({ value }) => typeof value === 'number' || typeof value === 'string')
        .filter(({ fault }) => !fault.startsWith('a '))
        .map(({ fault, value }) => ({
          name,
          what: fault,
          text: encodeURIComponent(String(value)),
        })),
    );
    const hostile = Object.keys(one.queries).flatMap((name) =>
      [...hostileParts, `a&${name}=b`, `&${name}[a]=b`, ''].map((text) => ({
        name,
        what: null,
        text,
      })),
    );
    const chosen = [...some(wrongs, 2, one), ...some(hostile, 2, one)];
    const tried = chosen.map(async ({ name, what, text }) => {
      const target = `${at}?${name}=${text}`;
      const answer = await send({ ...one, method: 'GET' }, { target });
      const isRefused = what === null || (answer.status === 400 && answer.body.includes(name));
      return isSound(one, answer) && isRefused ? null : describeFault(`${target} ${what}`, answer);
    });
    return one.method === 'GET' ? Promise.all(tried) : [];
  });
  expect(faults).toEqual([]);
});

it('returns 400 or 404 for arbitrary path segments, or matches another route', async () => {
  const named = operations.filter(({ path }) => path.includes('{'));
  const faults = await faultsOf(named, async (one) => {
    const body = one.schema === undefined ? undefined : '{}';
    const tried = some(hostileParts, 3, one).map(async (part) => {
      const target = one.path.replaceAll(/\{\w+\}/g, () => part);
      const answer = await send(one, { target, body });
      return isSound(one, answer) ? null : describeFault(target, answer);
    });
    return Promise.all(tried);
  });
  expect(faults).toEqual([]);
  expect(faultsLogged).toEqual([]);
});
