/**
 * Verifies that a change made by the Admin API applies in every gateway after its next poll, and
 * ends no admitted request.
 */
import { randomUUID } from 'node:crypto';
import { Connection } from 'mysql2';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import type { ProcessClock } from '../../../src/clock.ts';
import { startDatabaseLink } from '../../support/database/database-link.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

interface Gateway {
  readonly url: string;
  /** The port of its database link. */
  readonly port: number;
}

let inference: Inference;
/** The first gateway is part of the server with the Admin API; the others run beside it. */
let gateways: readonly Gateway[];
const started = new AsyncDisposableStack();

/** Number of polls for changes that have started, by database port. */
const looks = new Map<number, number>();
const methods = ['query', 'execute'] as const;
const originals = methods.map((name) => Connection.prototype[name]);

function noteLooks(): void {
  methods.forEach((name, at) => {
    Connection.prototype[name] = function (this: { config: { port: number } }, ...args: unknown[]) {
      const [statement] = args as [{ sql?: string } | string];
      const text = typeof statement === 'string' ? statement : (statement.sql ?? '');
      const { port } = this.config;
      if (text.includes('GROUP BY m.organisation_id')) {
        looks.set(port, (looks.get(port) ?? 0) + 1);
      }
      return Reflect.apply(originals[at]!, this, args);
    } as never;
  });
}

/**
 * Waits until every gateway has completed a poll that started after this call. Polls run several
 * times a second, one after the other, so the first has ended when the second starts.
 */
async function everyGatewayLooks(): Promise<void> {
  const before = new Map(looks);
  await eventually(() => {
    for (const { port } of gateways) {
      expect(looks.get(port) ?? 0).toBeGreaterThanOrEqual((before.get(port) ?? 0) + 2);
    }
  });
}

beforeAll(async () => {
  noteLooks();
  inference = started.use(await startInference());
  const { settings, clock, inferenceUrl } = inference.server;
  const found: Gateway[] = [{ url: inferenceUrl, port: settings.database!.port }];
  for (let beside = 0; beside < 2; beside += 1) {
    found.push(await startGateway(clock, async () => clock.now()));
  }
  gateways = found;
});

/** Starts a gateway beside the server, with its own link to the database. */
async function startGateway(
  clock: ProcessClock,
  readSharedTime: () => Promise<number>,
): Promise<Gateway> {
  const { settings } = inference.server;
  const link = started.use(await startDatabaseLink());
  const database = await link.lead(settings.database!);
  const overrides = { clock, readSharedTime, components: ['gateway'] as const };
  const app = started.use(await createApp({ ...settings, database, logLevel: 'error' }, overrides));
  return { url: (await app.listen()).inferenceUrl!, port: database.port };
}

beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});

afterAll(async () => {
  await started.disposeAsync();
  methods.forEach((name, at) => {
    Connection.prototype[name] = originals[at] as never;
  });
});

/** Returns the status of each gateway for a request with this key. */
function statuses(key: string, config?: null): Promise<number[]> {
  const requests = gateways.map(({ url }) =>
    inference.chat(key, { url, params: { max_tokens: 20 }, ...(config === null && { config }) }),
  );
  return Promise.all(requests).then((answers) => answers.map(({ status }) => status));
}

const all = (status: number): number[] => gateways.map(() => status);

async function change(method: string, path: string, body?: object): Promise<void> {
  const answer = await inference.server.request(method, path, { ...(body && { body }) });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}

/**
 * Sends a request to each gateway and waits until all reached the provider; `answer` lets the
 * provider respond.
 */
async function holdRequests(key: string): Promise<{ answer(): Promise<number[]> }> {
  const over = Promise.withResolvers<void>();
  inference.upstream.script = async (_, response) => {
    await over.promise;
    sendJson(response, chatAnswer);
  };
  const requested = statuses(key);
  await eventually(() => expect(inference.upstream.reached).toHaveLength(gateways.length));
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
  return {
    answer: () => {
      over.resolve();
      return requested;
    },
  };
}

describe('a change in every gateway', () => {
  it('rejects a deleted key, and completes the requests that it has started', async () => {
    const { key, id } = await inference.addKey();
    expect(await statuses(key)).toEqual(all(200));
    const held = await holdRequests(key);
    await change('DELETE', `/v1/api-keys/${id}`);
    await everyGatewayLooks();
    expect(await statuses(key)).toEqual(all(401));
    expect(await held.answer()).toEqual(all(200));
  });

  it('exhausts a budget that is lowered below the usage, and not one that is raised above it', async () => {
    const budget = (credit_limit: number) => ({ usage_limits: { type: 'tokens', credit_limit } });
    const { key, id } = await inference.addKey(budget(100_000));
    expect(await statuses(key)).toEqual(all(200));
    const held = await holdRequests(key);
    await change('PUT', `/v1/api-keys/${id}`, budget(10));
    await everyGatewayLooks();
    inference.upstream.reached.length = 0;
    expect(await statuses(key)).toEqual(all(412));
    expect(inference.upstream.reached).toEqual([]);
    expect(await held.answer()).toEqual(all(200));
    await change('PUT', `/v1/api-keys/${id}`, budget(100_000));
    await everyGatewayLooks();
    expect(await statuses(key)).toEqual(all(200));
  });

  it('applies a lowered and a raised rate limit to earlier requests as well', async () => {
    const rate = (value: number) => ({ rate_limits: [{ type: 'requests', unit: 'rpw', value }] });
    const { key, id } = await inference.addKey(rate(1_000));
    expect(await statuses(key)).toEqual(all(200));
    await change('PUT', `/v1/api-keys/${id}`, rate(gateways.length));
    await everyGatewayLooks();
    expect(await statuses(key)).toEqual(all(429));
    await change('PUT', `/v1/api-keys/${id}`, rate(2 * gateways.length));
    await everyGatewayLooks();
    expect(await statuses(key)).toEqual(all(200));
    expect(await statuses(key)).toEqual(all(429));
  });

  it('uses a changed config for new requests, and completes the requests that have started', async () => {
    const config = (api_key: string) => {
      return { config: { provider: 'openai', api_key, custom_host: inference.upstream.url } };
    };
    const answer = await inference.server.request('POST', '/v2/configs', {
      body: { name: 'changing', ...config('sk-one') },
    });
    const { key } = await inference.addKey({ defaults: { config_id: answer.body.id } });
    expect(await statuses(key, null)).toEqual(all(200));
    await change('PUT', `/v2/configs/${answer.body.slug}`, config('sk-two'));
    await everyGatewayLooks();
    inference.upstream.reached.length = 0;
    expect(await statuses(key, null)).toEqual(all(200));
    const used = inference.upstream.reached.map(({ headers }) => headers.authorization);
    expect(used).toEqual(gateways.map(() => 'Bearer sk-two'));
  });

  it('finds a config and a provider by their new slugs, and no longer by the previous ones', async () => {
    const { server, upstream, addKey, chat } = inference;
    const make = async (path: string, body: object) =>
      (await server.request('POST', path, { body })).body;
    const { id: workspace_id } = await make('/v2/workspaces', { name: 'Slugs' });
    const account = {
      ai_provider_id: 'openai',
      key: 'k',
      configurations: { custom_host: upstream.url },
    };
    const { id: integration_id } = await make('/v2/integrations', {
      name: 'ai',
      ...account,
      workspace_id,
    });
    const place = { name: 'x', workspace_id };
    const provider = await make('/v2/providers', { ...place, slug: 'old', integration_id });
    const config = await make('/v2/configs', {
      ...place,
      slug: 'before',
      config: { provider: '@old' },
    });
    const { key } = await addKey({ workspace_id });
    const statusesFor = (slug: string): Promise<number[]> =>
      Promise.all(
        gateways.map(async ({ url }) => {
          const headers = { 'x-gateway-config': slug };
          return (await chat(key, { url, config: null, headers })).status;
        }),
      );
    expect(await statusesFor('before')).toEqual(all(200));
    await change('PUT', `/v2/configs/${config.id}`, { slug: 'after' });
    await everyGatewayLooks();
    expect(await statusesFor('before')).toEqual(all(400));
    expect(await statusesFor('after')).toEqual(all(200));
    await change('PUT', `/v2/providers/${provider.id}`, { slug: 'new' });
    await everyGatewayLooks();
    expect(await statusesFor('after')).toEqual(all(400));
    await change('PUT', `/v2/configs/${config.id}`, { config: { provider: '@new' } });
    await everyGatewayLooks();
    expect(await statusesFor('after')).toEqual(all(200));
  });

  it('applies the config for user keys to the user keys of that workspace only, when they have none of their own', async () => {
    const { server, upstream, addKey } = inference;
    const made = async (path: string, body: object) =>
      (await server.request('POST', path, { body })).body;
    const saved = (api_key: string) =>
      made('/v2/configs', {
        name: 'people',
        config: { provider: 'openai', api_key, custom_host: upstream.url },
      });
    const [theirs, own] = [await saved('sk-people'), await saved('sk-own')];
    const { id: workspace_id } = await made('/v2/workspaces', { name: 'People' });
    const keyOf = async (defaults?: object) =>
      (
        await made('/v1/api-keys/workspace/user', {
          name: 'k',
          scopes: ['completions.write'],
          user_id: randomUUID(),
          workspace_id,
          defaults,
        })
      ).key;
    const [user, pinned] = [await keyOf(), await keyOf({ config_id: own.id })];
    const { key: service } = await addKey({ workspace_id });
    const choose = async (user_api_key_config: string | null) => {
      await change('PUT', `/v2/workspaces/${workspace_id}`, { defaults: { user_api_key_config } });
      await everyGatewayLooks();
    };
    const used = async (key: string) => {
      upstream.reached.length = 0;
      const answered = await statuses(key, null);
      return [answered, upstream.reached.map(({ headers }) => headers.authorization)];
    };
    expect(await used(user)).toEqual([all(400), []]);
    await choose(theirs.slug);
    expect(await used(user)).toEqual([all(200), gateways.map(() => 'Bearer sk-people')]);
    expect(await used(pinned)).toEqual([all(200), gateways.map(() => 'Bearer sk-own')]);
    expect(await used(service)).toEqual([all(400), []]);
    await choose(null);
    expect(await used(user)).toEqual([all(400), []]);
  });

  it('accepts the previous value of a rotated key up to the last millisecond of the transition', async () => {
    const { key, id } = await inference.addKey();
    expect(await statuses(key)).toEqual(all(200));
    const rotated = await inference.server.request('POST', `/v1/api-keys/${id}/rotate`, {
      body: { key_transition_period_ms: 3_600_000 },
    });
    await everyGatewayLooks();
    const both = async () => [await statuses(key), await statuses(rotated.body.key)];
    expect(await both()).toEqual([all(200), all(200)]);
    inference.server.clock.advance(3_600_000 - 1);
    expect(await both()).toEqual([all(200), all(200)]);
    inference.server.clock.advance(1);
    expect(await both()).toEqual([all(401), all(200)]);
  });
});

describe('a gateway', () => {
  it('recovers from a clock that is set back or ahead, and counts in the window of the other gateways', async () => {
    const start = inference.server.clock.now();
    let setMs = 0;
    let sharedMs = start;
    const clock = { now: () => start + setMs, monotonicMs: () => 0 };
    const { url } = await startGateway(clock, async () => sharedMs);
    const { key } = await inference.addKey({
      rate_limits: [{ type: 'requests', unit: 'rph', value: 1 }],
    });
    const ask = async (): Promise<number> => (await inference.chat(key, { url })).status;
    expect([await ask(), await ask()]).toEqual([200, 429]);
    for (const hours of [-1, 1]) {
      setMs = hours * 3_600_000;
      expect(await ask()).toBe(429);
    }
    // Simulates a machine that slept for an hour.
    sharedMs += 3_600_000;
    await eventually(async () => expect(await ask()).toBe(200));
  });
});
