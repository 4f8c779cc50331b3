/** Tests that an agent session of 50 turns on three providers costs what their journals say, through two fallbacks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { countersOf } from '../../gate/counters.ts';
import { addLimits } from '../../gate/gate-resources.ts';
import { newMasterKeys, startGatewayProcess } from '../../gate/gateway-processes.ts';
import type { Usage } from '../../support/round-trips/answers.ts';
import { logIsWritten } from '../../support/server/request-log.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { dayAgents } from './day-agents.ts';
import {
  type DayProvider,
  type DayService,
  downFrom,
  startDayProvider,
  tooLongFrom,
  turnsOfDay,
} from './day-provider.ts';

const models: Readonly<Record<DayService, string>> = {
  openai: 'gpt-5',
  anthropic: 'claude-sonnet-4-5',
  bedrock: 'amazon.nova-pro-v1:0',
};
const services = Object.keys(models) as DayService[];

/** Micro-dollars of a million tokens. */
interface PricesOfMillion {
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
}

/** Hosts of all ports. */
const trustedHost = '127.0.0.1';

const stack = new AsyncDisposableStack();
let server: TestServer;
let prices: ReadonlyMap<DayService, PricesOfMillion>;

afterAll(() => stack.disposeAsync());

beforeAll(async () => {
  const trusted = readTrustedHosts(trustedHost);
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  const settings = { trustedHosts, masterKeys: newMasterKeys() };
  server = stack.use(await startTestServer({ settings }));
  server.clock.set(Date.now());
  prices = new Map(
    await Promise.all(services.map(async (one) => [one, await tablePrices(one)] as const)),
  );
});

async function send(path: string, body: object) {
  const made = await server.request('POST', path, { body });
  if (made.status !== 200) throw new Error(`${path}: ${JSON.stringify(made.body)}`);
  return made.body;
}

/** The prices that the gateway publishes of its own table, in cents of one token. */
async function tablePrices(service: DayService): Promise<PricesOfMillion> {
  const path = `/v1/model-configs/pricing/${service}/${models[service]}`;
  const { status, body } = await server.request('GET', path);
  expect([path, status]).toEqual([path, 200]);
  const { pay_as_you_go: listed } = body;
  const ofMillion = (name: string, instead: string): number =>
    Math.round(((listed[name] ?? listed[instead]).price as number) * 1e10);
  return {
    input: ofMillion('request_token', 'request_token'),
    cached: ofMillion('cache_read_input_token', 'request_token'),
    written: ofMillion('cache_write_input_token', 'request_token'),
    output: ofMillion('response_token', 'response_token'),
  };
}

/** In micro-dollars, rounded up once. */
function costOf(service: DayService, usage: Usage): number {
  const price = prices.get(service)!;
  const { input, cached, written, output } = usage;
  const millionths =
    (input - cached - written) * price.input +
    cached * price.cached +
    written * price.written +
    output * price.output;
  return Math.ceil(millionths / 1_000_000);
}

/** A config whose targets are accounts at the three providers, in order. */
async function addConfig(workspace_id: string, { host }: DayProvider): Promise<object> {
  const targets: object[] = [];
  for (const service of services) {
    const address = service === 'bedrock' ? `http://${host}` : `http://${host}/v1`;
    const region = service === 'bedrock' ? { aws_region: 'us-east-1' } : {};
    const { id } = await send('/v1/integrations', {
      name: service,
      ai_provider_id: service,
      key: 'sk',
      configurations: { custom_host: address, ...region },
    });
    const owned = { name: service, integration_id: id, workspace_id };
    const { slug } = await send('/v1/providers', owned);
    targets.push({ provider: `@${slug}`, override_params: { model: models[service] } });
  }
  return { strategy: { mode: 'fallback', on_context_window: true }, targets };
}

describe.each(Object.entries(dayAgents))('an agent that sends %s', (_format, run) => {
  it('costs to the micro-dollar what the providers wrote down, in log, counters and budget', async () => {
    await using session = new AsyncDisposableStack();
    const provider = session.use(await startDayProvider());
    const { key, workspaceId, limits } = await addLimits(server, {
      key: { type: 'cost', units: 100_000_000 },
      workspace: { type: 'tokens', units: 100_000_000 },
      policy: { type: 'requests', units: 1000 },
    });
    const config = await addConfig(workspaceId, provider);
    const gateway = await startGatewayProcess({
      settings: server.settings,
      trusted: trustedHost,
    });
    session.use(gateway);
    const headers = {
      authorization: `Bearer ${key}`,
      'x-gateway-config': JSON.stringify(config),
      'x-gateway-metadata': '{"team":"one"}',
    };
    await run(key, { url: gateway.inferenceUrl, headers, turns: turnsOfDay });
    await logIsWritten(gateway);
    await gateway[Symbol.asyncDispose]();

    const { journal, refused, faults } = provider;
    expect(faults).toEqual([]);
    expect(journal.map(({ turn, service }) => [turn, service])).toEqual(
      Array.from({ length: turnsOfDay }, (_, at) => {
        const turn = at + 1;
        if (turn < downFrom) return [turn, 'openai'];
        return [turn, turn < tooLongFrom ? 'anthropic' : 'bedrock'];
      }),
    );
    expect(Object.fromEntries(refused)).toEqual({
      openai: turnsOfDay - downFrom + 1,
      anthropic: turnsOfDay - tooLongFrom + 1,
    });
    expect(await loggedTurns(workspaceId)).toEqual(
      journal.map(({ turn, service, usage }) => ({
        turn: `turn-${turn}`,
        status: 200,
        input: usage.input,
        cached: usage.cached,
        written: usage.written,
        output: usage.output,
        cost: costOf(service, usage),
        prices: 'table',
        selection: turn < downFrom ? null : turn < tooLongFrom ? 'fallback' : 'context_window',
      })),
    );
    const used = { cost: 0, tokens: 0, requests: journal.length };
    for (const { service, usage } of journal) {
      used.cost += costOf(service, usage);
      used.tokens += usage.input + usage.output;
    }
    for (const limit of limits) {
      const counters = await countersOf(server.database.db, limit);
      const expected = { used: used[limit.type], reserved: 0, assumed: 0 };
      expect({ limit: limit.name, counters }).toEqual({ limit: limit.name, counters: [expected] });
    }
  });
});

async function loggedTurns(workspaceId: string) {
  const { db } = server.database;
  const rows = await db
    .selectFrom('request_logs')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .execute();
  return rows
    .map((row) => ({
      turn: row.trace_id,
      status: row.status,
      input: Number(row.input_tokens),
      cached: Number(row.cached_input_tokens),
      written: Number(row.cache_write_tokens),
      output: Number(row.output_tokens),
      cost: Number(row.cost_units),
      prices: row.price_source,
      selection: row.target_selection,
    }))
    .toSorted((one, other) => Number(one.turn.slice(5)) - Number(other.turn.slice(5)));
}
