/**
 * Verifies that a background response or run, first charged with its reservation, is settled with
 * the reported usage once, to the micro-dollar.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { openProviderLists } from '../../../src/gateway/objects/provider-lists.ts';
import { settleOpenCharges } from '../../../src/jobs/settle-open-charges.ts';
import { settleCharge } from '../../../src/ledger/open-charge.ts';
import * as openCharges from '../../../src/store/logs/open-charges.ts';
import { keyUnits } from '../../support/rows/usage-rows.ts';
import { eventually } from '../../support/server/eventually.ts';
import { jobContext } from '../../support/server/job-context.ts';
import {
  type SharedAccount,
  startSharedAccount,
  type Tenant,
} from '../../support/upstream/shared-account.ts';
import { sendJson, type TestUpstream } from '../../support/upstream/upstream.ts';

interface Work {
  readonly id: string;
  readonly object: string;
  status: string;
  usage: object | null;
}

let shared: SharedAccount;
let lists: ReturnType<typeof openProviderLists>;
/** Work in progress at the provider by path, with the usage it reports. */
let works: Map<string, Work>;
let made = 0;
const minuteMs = 60_000;

const script: TestUpstream['script'] = ({ method, url, body }, answer) => {
  const { pathname } = new URL(url, 'http://any');
  const path = pathname.slice('/v1'.length);
  const stated = body.length === 0 ? {} : JSON.parse(body.toString());
  const isRun = path.endsWith('/runs');
  if (method === 'GET' && isRun) {
    const data = [...works].filter(([at]) => at.startsWith(path)).map(([, one]) => one);
    return sendJson(answer, { object: 'list', data, has_more: false });
  }
  if (method === 'POST' && path === '/threads') return sendJson(answer, { id: `th_${++made}` });
  if (method === 'POST' && (isRun || path === '/responses')) {
    const place = isRun ? { object: 'thread.run', thread_id: path.split('/')[2] } : {};
    const one = { id: `work_${++made}`, object: 'response', ...place, status: 'queued' };
    const work: Work = { ...one, usage: null };
    works.set(`${path}/${work.id}`, work);
    if (stated.stream !== true) return sendJson(answer, work);
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = { type: 'response.created', response: work };
    return void answer.write(`event: response.created\ndata: ${JSON.stringify(event)}\n\n`);
  }
  const work = works.get(path.replace(/\/cancel$/, ''));
  if (work === undefined) return sendJson(answer, { error: { message: 'none' } }, 404);
  if (!url.includes('stream=true')) return sendJson(answer, work);
  answer.writeHead(200, { 'content-type': 'text/event-stream' });
  const event = { type: 'response.completed', response: work };
  answer.end(`event: response.completed\ndata: ${JSON.stringify(event)}\n\n`);
};

beforeAll(async () => {
  shared = await startSharedAccount();
  const { server } = shared.inference;
  server.clock.set(Date.now());
  const { keyring, database } = server.app;
  lists = openProviderLists({
    database,
    clock: server.clock,
    trustedHosts: server.settings.trustedHosts,
    unsealerOf: keyring.unsealerOf,
    mayBeItself: false,
    onSecretFailure: () => {},
    onSecretRead: () => {},
  });
});

beforeEach(async () => {
  works = new Map();
  shared.inference.upstream.script = script;
  await shared.inference.server.database.db.deleteFrom('open_charges').execute();
});

afterAll(async () => {
  await lists[Symbol.asyncDispose]();
  await shared[Symbol.asyncDispose]();
});

const cost = { usage_limits: { type: 'cost', credit_limit: 500 } };
const model = 'gpt-4o-mini';
/** Cost with this model, in millionths of a dollar per million tokens. */
const journal = (input: number, output: number) =>
  Math.ceil((input * 150_000 + output * 600_000) / 1_000_000);
const used = (input_tokens: number, output_tokens: number) => ({ input_tokens, output_tokens });
const usedByRun = (prompt_tokens: number, completion_tokens: number) => ({
  prompt_tokens,
  completion_tokens,
});

const units = (by: Tenant) => keyUnits(shared.inference.server.database.db, by.keyId);
const rowsOfOpen = () => shared.inference.server.database.db.selectFrom('open_charges').selectAll();
/** Charges that are not settled; some of them have no log row yet. */
const open = () => rowsOfOpen().where('used', 'is', null).execute();

/** Resolves once the log contains all open charges. */
const logged = () =>
  eventually(async () => {
    const known = await rowsOfOpen().execute();
    expect(known.filter((row) => row.logged_at === null || row.used !== null)).toEqual([]);
  });

/** The usage of a key according to the log and its totals. */
async function loggedUsage(by: Tenant) {
  const { db } = shared.inference.server.database;
  const sums = (table: 'request_logs' | 'request_totals') =>
    db
      .selectFrom(table)
      .select(({ fn }) => [
        fn.sum<string>('input_tokens').as('input'),
        fn.sum<string>('output_tokens').as('output'),
        fn.sum<string>('cost_units').as('cost'),
      ])
      .where('api_key_id', '=', by.keyId)
      .executeTakeFirstOrThrow();
  const [log, totals] = [await sums('request_logs'), await sums('request_totals')];
  expect(totals).toEqual(log);
  return { input: Number(log.input), output: Number(log.output), cost: Number(log.cost) };
}

function run() {
  const { database, clock } = shared.inference.server;
  return settleOpenCharges(lists).run(jobContext(database, clock.now()));
}

const nothing = { settled: 0, unsaid: 0, open: 0, postponed: 0 };

async function background(by: Tenant, more: object = {}): Promise<Work> {
  const body = { model, input: 'x', background: true, max_output_tokens: 1_000, ...more };
  const answer = await shared.ask(by, 'POST', '/responses', body);
  expect(answer).toMatchObject({ status: 200, body: { status: 'queued' } });
  return works.get(`/responses/${answer.body.id}`)!;
}

async function thread(by: Tenant): Promise<string> {
  return (await shared.ask(by, 'POST', '/threads', {})).body.id;
}

async function runOn(by: Tenant, at: string): Promise<Work> {
  const queryValue = { model, max_prompt_tokens: 2_000, max_completion_tokens: 500 };
  const answer = await shared.ask(by, 'POST', `/threads/${at}/runs`, queryValue);
  expect(answer.status).toBe(200);
  return works.get(`/threads/${at}/runs/${answer.body.id}`)!;
}

it('is settled once with the usage of the provider under concurrent reads, for its owner only', async () => {
  const [tenant, other] = [await shared.tenant('many', cost), await shared.tenant('other', cost)];
  const work = await background(tenant);
  const granted = await units(tenant);
  expect(granted).toBeGreaterThan(journal(10, 1_000));
  const path = `/responses/${work.id}`;
  await shared.ask(tenant, 'GET', path);
  expect(await units(tenant)).toBe(granted);
  Object.assign(work, { status: 'completed', usage: used(1_234, 77) });
  expect(await shared.ask(other, 'GET', path)).toMatchObject({ status: 404 });
  expect(await units(tenant)).toBe(granted);
  const ways = ['GET', 'GET', 'POST', 'GET'] as const;
  const requests = Array.from({ length: 50 }, (_, at) => {
    const method = ways[at % 4]!;
    const query = at % 4 === 3 ? '?stream=true' : '';
    return shared.ask(tenant, method, path + (method === 'POST' ? '/cancel' : query));
  });
  for (const { status } of await Promise.all(requests)) expect(status).toBe(200);
  expect(await units(tenant)).toBe(journal(1_234, 77));
  expect(await open()).toEqual([]);
  await shared.ask(tenant, 'GET', path);
  expect(await units(tenant)).toBe(journal(1_234, 77));
});

it('is settled for runs when one or a list is read, also above the reservation', async () => {
  const tenant = await shared.tenant('runs', cost);
  const at = await thread(tenant);
  const [one, two, three] = [
    await runOn(tenant, at),
    await runOn(tenant, at),
    await runOn(tenant, at),
  ];
  const granted = await units(tenant);
  Object.assign(one, { status: 'completed', usage: usedByRun(700, 40) });
  await shared.ask(tenant, 'GET', `/threads/${at}/runs/${one.id}`);
  expect(await units(tenant)).toBe((granted / 3) * 2 + journal(700, 40));
  Object.assign(two, { status: 'incomplete', usage: usedByRun(900_000, 40) });
  Object.assign(three, { status: 'requires_action', usage: usedByRun(1, 1) });
  await shared.ask(tenant, 'GET', `/threads/${at}/runs`);
  const both = journal(700, 40) + journal(900_000, 40);
  expect(await units(tenant)).toBe(granted / 3 + both);
  Object.assign(three, { status: 'expired', usage: usedByRun(300, 3) });
  await shared.ask(tenant, 'GET', `/threads/${at}/runs`);
  expect(await units(tenant)).toBe(both + journal(300, 3));
});

it('is settled by a job when nobody reads it, stays without reported usage, and is then dropped', async () => {
  const { clock } = shared.inference.server;
  const tenant = await shared.tenant('nobody', cost);
  const at = await thread(tenant);
  const [loggedUsage, going, gone, unsaid] = [
    await background(tenant),
    await background(tenant),
    await background(tenant),
    await runOn(tenant, at),
  ];
  const granted = await units(tenant);
  expect(await run()).toEqual(nothing);
  Object.assign(loggedUsage!, { status: 'completed', usage: used(1_000, 100) });
  Object.assign(unsaid!, { status: 'failed', usage: null });
  works.delete(`/responses/${gone!.id}`);
  clock.advance(minuteMs);
  const both = await Promise.all([run(), run()]);
  const sum = (name: string) => both.reduce((all, counts) => all + counts[name]!, 0);
  expect(['settled', 'unsaid', 'open', 'postponed'].map(sum)).toEqual([1, 2, 1, 0]);
  const response = granted - (await units(tenant)) + journal(1_000, 100);
  shared.inference.upstream.script = (_, answer) => sendJson(answer, {}, 503);
  clock.advance(minuteMs);
  expect(await run()).toEqual({ ...nothing, postponed: 1 });
  expect(await run()).toEqual(nothing);
  shared.inference.upstream.script = script;
  Object.assign(going!, { status: 'cancelled', usage: used(20, 2) });
  clock.advance(10 * minuteMs);
  expect(await run()).toEqual({ ...nothing, settled: 1 });
  const rest = granted - 2 * response;
  expect(await units(tenant)).toBe(rest + journal(1_000, 100) + journal(20, 2));
  await background(tenant);
  clock.advance(31 * 24 * 60 * minuteMs);
  expect(await run()).toEqual({ ...nothing, unsaid: 1 });
});

/** Requests a streamed response that the provider aborts and continues in the background. */
async function breakOff(tenant: Tenant): Promise<void> {
  const body = { model, input: 'x', background: true, stream: true, max_output_tokens: 1_000 };
  shared.inference.upstream.script = async (request, answer) => {
    await script(request, answer);
    answer.write(': the provider ends here\n\n', () => answer.destroy());
  };
  await expect(shared.ask(tenant, 'POST', '/responses', body)).rejects.toThrow();
  shared.inference.upstream.script = script;
}

it('is recorded for an aborted stream that continues at the provider', async () => {
  const tenant = await shared.tenant('stream', cost);
  await breakOff(tenant);
  await eventually(async () => expect(await open()).toHaveLength(1));
  const [[path, work]] = [...works] as [[string, Work]];
  Object.assign(work, { status: 'completed', usage: used(100, 10) });
  await shared.ask(tenant, 'GET', path);
  expect(await units(tenant)).toBe(journal(100, 10));
});

it('equals log and totals in the end for runs, responses and aborted streams', async () => {
  const { clock } = shared.inference.server;
  const tenant = await shared.tenant('logged', cost);
  const at = await thread(tenant);
  /** A usage that is known at once is usually settled before it is logged, any other afterwards. */
  for (const isAtOnce of [true, false]) {
    const before = new Set(works.keys());
    await Promise.all([1, 2, 3].map(() => background(tenant)));
    await runOn(tenant, at);
    await runOn(tenant, at);
    await breakOff(tenant);
    await eventually(async () => expect(await open()).toHaveLength(6));
    const made = [...works].filter(([path]) => !before.has(path));
    expect(made).toHaveLength(6);
    for (const [place, [path, work]] of made.entries()) {
      const usage = path.startsWith('/threads')
        ? usedByRun(100_000 + place, 9)
        : used(50 + place, 3);
      Object.assign(work, { status: 'completed', usage });
    }
    if (isAtOnce) {
      for (const [path] of made) await shared.ask(tenant, 'GET', path);
    } else {
      await logged();
      clock.advance(minuteMs);
      const asking = made.map(([path]) => shared.ask(tenant, 'GET', path));
      await Promise.all([run(), run(), ...asking]);
    }
    expect(await open()).toEqual([]);
  }
  await logged();
  const uses = [...works.values()].map(({ usage }) => Object.values(usage!) as [number, number]);
  const sum = (each: (input: number, output: number) => number) =>
    uses.reduce((all, [input, output]) => all + each(input, output), 0);
  const charged = sum(journal);
  expect(await units(tenant)).toBe(charged);
  expect(await loggedUsage(tenant)).toEqual({
    input: sum((input) => input),
    output: sum((_, output) => output),
    cost: charged,
  });
});

it('settles once after any crash, waits for unknown counters, and is dropped with a counter that was reset', async () => {
  const { database, clock } = shared.inference.server;
  const tenant = await shared.tenant('dies', cost);
  const usage = { inputTokens: 500, outputTokens: 50, cachedInputTokens: 0, cacheWriteTokens: 0 };
  await background(tenant);
  const granted = await units(tenant);
  await logged();
  const [row] = (await open()) as [openCharges.OpenCharge];
  const dying = settleCharge(
    (work) =>
      database.transaction(async (tx) => {
        await work(tx);
        throw new Error('killed before the commit');
      }, 1),
    row,
    usage,
    clock.now(),
  );
  await expect(dying).rejects.toThrow('killed');
  expect([await units(tenant), await open()]).toEqual([granted, [row]]);
  const lost = settleCharge(
    async (work) => {
      await database.transaction(work);
      throw new Error('killed behind the commit');
    },
    row,
    usage,
    clock.now(),
  );
  await expect(lost).rejects.toThrow('killed');
  const again = () => settleCharge((work) => database.transaction(work), row, usage, clock.now());
  expect(await again()).toBe(true);
  expect(await units(tenant)).toBe(journal(500, 50));

  await openCharges.insert(database.db, row);
  expect(await again()).toBe(false);
  expect([await units(tenant), await open()]).toEqual([journal(500, 50), [row]]);
  const late = row.created_at + 11 * minuteMs;
  expect(await settleCharge((work) => database.transaction(work), row, usage, late)).toBe(true);
  expect([await units(tenant), await open()]).toEqual([0, []]);

  const { id } = await background(tenant);
  clock.advance(1);
  const { server } = shared.inference;
  await server.request('PUT', `/v1/api-keys/${tenant.keyId}`, { body: { reset_usage: true } });
  Object.assign(works.get(`/responses/${id}`)!, { status: 'completed', usage: used(9, 9) });
  await shared.ask(tenant, 'GET', `/responses/${id}`);
  expect([await units(tenant), await open()]).toEqual([0, []]);
});

it('accepts usage only from the server that was called', async () => {
  const { upstream, addKey } = shared.inference;
  const { key, id: keyId } = await addKey({
    usage_limits: { type: 'tokens', credit_limit: 10_000_000 },
  });
  const at = (custom_host: string) => ({
    'x-gateway-config': JSON.stringify({ provider: 'openai', api_key: 'own', custom_host }),
  });
  const { db } = shared.inference.server.database;
  const body = { model, input: 'x', background: true, max_output_tokens: 1_000 };
  const made = await shared.ask({ key }, 'POST', '/responses', body, at(upstream.url));
  const granted = await keyUnits(db, keyId);
  expect(granted).toBeGreaterThan(1_000);
  const path = `/responses/${made.body.id}`;
  const work = works.get(path)!;
  Object.assign(work, { status: 'completed', usage: used(7, 1) });
  const lie = { ...work, usage: used(0, 0) };
  upstream.script = (request, answer) =>
    request.url.startsWith('/other') ? sendJson(answer, lie) : script(request, answer);
  const other = upstream.url.replace('/v1', '/other/v1');
  const lied = await shared.ask({ key }, 'GET', path, undefined, at(other));
  expect([lied.body.usage, await keyUnits(db, keyId)]).toEqual([used(0, 0), granted]);
  await shared.ask({ key }, 'GET', path, undefined, at(upstream.url));
  expect(await keyUnits(db, keyId)).toBe(8);
});
