/**
 * Verifies that the gateway stores the owner of a provider object exactly as long as the provider
 * has the object.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openProviderLists } from '../../../src/gateway/objects/provider-lists.ts';
import { forgetGoneObjects } from '../../../src/jobs/forget-gone-objects.ts';
import { jobContext } from '../../support/server/job-context.ts';
import {
  type SharedAccount,
  startKeeper,
  startSharedAccount,
  type Tenant,
} from '../../support/upstream/shared-account.ts';
import { sendJson } from '../../support/upstream/upstream.ts';

let shared: SharedAccount;
let tenant: Tenant;
let lists: ReturnType<typeof openProviderLists>;
const { objects: stored, script } = startKeeper();
const dayMs = 86_400_000;

beforeAll(async () => {
  shared = await startSharedAccount();
  const { server, upstream } = shared.inference;
  upstream.script = script;
  tenant = await shared.tenant('ours');
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

afterAll(async () => {
  await lists[Symbol.asyncDispose]();
  await shared[Symbol.asyncDispose]();
});

function run() {
  const { database, clock } = shared.inference.server;
  return forgetGoneObjects(lists).run(jobContext(database, clock.now()));
}

async function known(): Promise<string[]> {
  const rows = await shared.inference.server.database.db
    .selectFrom('owned_objects')
    .select('kind')
    .orderBy('kind')
    .execute();
  return rows.map(({ kind }) => kind);
}

const nothing = { forgotten: 0, kept: 0, postponed: 0 };

it('deletes owners two days after a deletion, a month after expiry, and never without information from the provider', async () => {
  const { clock } = shared.inference.server;
  const make = async (path: string, body: object = {}) =>
    (await shared.ask(tenant, 'POST', path, body)).body.id as string;
  const output = [{ id: 'item_1', container_id: 'container_1' }];
  const response = await make('/responses', { model: 'm', input: 'x' });
  stored.set(response, { id: response, output });
  await shared.ask(tenant, 'GET', `/responses/${response}`);
  const [expired, store] = [await make('/vector_stores'), await make('/vector_stores')];
  const [deleted, job] = [await make('/skills'), await make('/fine_tuning/jobs')];
  stored.set(job, { id: job, fine_tuned_model: 'ft:m' });
  stored.set('ft:m', { id: 'ft:m' });
  await shared.ask(tenant, 'GET', `/fine_tuning/jobs/${job}`);
  await shared.ask(tenant, 'DELETE', `/skills/${deleted}`);
  const all = ['containers', 'fine_tuning_jobs', 'items', 'models', 'responses', 'skills'];
  expect(await known()).toEqual([...all, 'vector_stores', 'vector_stores']);
  expect(await run()).toEqual(nothing);
  clock.advance(2 * dayMs);
  expect(await run()).toEqual({ ...nothing, forgotten: 1 });

  stored.delete(expired);
  clock.advance(29 * dayMs);
  const { upstream } = shared.inference;
  upstream.script = (_, response) => sendJson(response, { error: {} }, 503);
  upstream.reached.length = 0;
  expect(await run()).toEqual({ ...nothing, forgotten: 2, postponed: 5 });
  expect(upstream.reached.length).toBeLessThanOrEqual(8);
  upstream.script = script;
  expect(await run()).toEqual(nothing);
  clock.advance(dayMs);
  const both = await Promise.all([run(), run()]);
  expect(both.reduce((sum, { forgotten }) => sum + forgotten!, 0)).toBe(1);
  const left = ['fine_tuning_jobs', 'models', 'responses', 'vector_stores'];
  expect(await known()).toEqual(left);
  expect(await shared.ask(tenant, 'GET', `/vector_stores/${store}`)).toMatchObject({ status: 200 });
  expect(await run()).toEqual(nothing);
});

it('deletes owners of removed providers, and after a year those of unreachable accounts', async () => {
  const { server } = shared.inference;
  const { body } = await server.request('GET', '/v1/providers');
  const slug = body.data.find(({ name }: { name: string }) => name === 'ours').slug;
  const inline = JSON.stringify({
    provider: 'openai',
    api_key: 'own',
    custom_host: shared.inference.upstream.url,
  });
  const made = await shared.ask(tenant, 'POST', '/skills', {}, { 'x-gateway-config': inline });
  expect(made.status).toBe(200);
  expect((await server.request('DELETE', `/v1/providers/${slug}`)).status).toBe(200);
  server.clock.advance(31 * dayMs);
  expect(await run()).toEqual({ ...nothing, forgotten: 4 });
  expect(await known()).toEqual(['skills']);
  server.clock.advance(335 * dayMs);
  expect(await run()).toEqual({ ...nothing, forgotten: 1 });
  expect(await known()).toEqual([]);
});
