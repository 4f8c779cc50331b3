/**
 * Verifies that each attempt of a request is charged with its own usage at its own price and
 * logged: fallbacks, retries and lost responses.
 */
import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RequestLogRecord } from '../../../src/model/logs/request-log.ts';
import { keyUnits } from '../../support/rows/usage-rows.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;

/** How a provider handles a call. */
const behaviours = {
  answers: (response: ServerResponse) => sendJson(response, chatAnswer),
  /** Responds with text that a guardrail rejects. */
  offends: (response: ServerResponse) => {
    const message = { role: 'assistant', content: 'bad' };
    sendJson(response, { ...chatAnswer, choices: [{ index: 0, message }] });
  },
  refuses: (response: ServerResponse) => sendJson(response, { error: {} }, 500),
  breaksOff: (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 });
    response.write('{"usage":', () => response.destroy());
  },
  saysNothing: (response: ServerResponse) => void response.destroy(),
};

type ProviderBehaviour = keyof typeof behaviours | 'isNowhere';

interface Target {
  readonly provider: 'mock-upstream' | 'openai';
  readonly behaviour: ProviderBehaviour;
}

/** Micro-dollars per input token and per output token. */
const prices = { 'mock-upstream': [1, 2], openai: [2.5, 10] } as const;
const maxTokens = 20;

beforeAll(async () => {
  inference = await startInference();
  inference.upstream.script = ({ url }, response) => {
    const [, behaviour] = url.split('/');
    behaviours[behaviour as keyof typeof behaviours](response);
  };
});

afterAll(() => inference[Symbol.asyncDispose]());

/** A target of the config that calls this provider, with known prices. */
function leaf({ provider, behaviour }: Target): object {
  const { nowhere, upstream } = inference;
  const place = behaviour === 'isNowhere' ? nowhere : `http://${upstream.host}`;
  return {
    provider,
    api_key: 'sk',
    custom_host: `${place}/${behaviour}`,
    override_params: { model: 'gpt-4o' },
  };
}

/**
 * Returns the micro-dollars that a call of a target costs; `bytes` is the length of the request
 * body.
 */
function costOf({ provider, behaviour }: Target, bytes: number): number {
  const [input, output] = prices[provider];
  const cost = (inputTokens: number, outputTokens: number): number =>
    Math.ceil(input * inputTokens + output * outputTokens);
  switch (behaviour) {
    case 'answers':
    case 'offends':
      return cost(5, 2);
    case 'breaksOff':
    case 'saysNothing':
      return cost(bytes, maxTokens);
    case 'refuses':
    case 'isNowhere':
      return 0;
  }
}

/** Micro-dollars. */
const costOfValues = ({ cost }: { readonly cost: number | null }): number =>
  Math.round((cost ?? 0) * 1_000_000);

async function rowsOf(keyId: string, count: number): Promise<RequestLogRecord[]> {
  return eventually(async () => {
    const path = `/admin/v2/logs?api_key_id=${keyId}&page_size=100`;
    const { data } = (await inference.server.request('GET', path)).body;
    expect(data).toHaveLength(count);
    return data;
  });
}

const Targets = fc.array(
  fc.record<Target>({
    provider: fc.constantFrom('mock-upstream', 'openai'),
    behaviour: fc.constantFrom(...(Object.keys(behaviours) as ProviderBehaviour[]), 'isNowhere'),
  }),
  { minLength: 1, maxLength: 3 },
);

it('charges each called target of a fallback at its own price, and logs and totals each one separately', async () => {
  const { key, id } = await inference.addKey({ usage_limits: { credit_limit: 100 } });
  const plans = fc.sample(Targets, 30);
  const expected = new Map<string, number[]>();
  for (const [at, targets] of plans.entries()) {
    const first = inference.upstream.reached.length;
    const config = {
      provider: undefined,
      custom_host: undefined,
      strategy: { mode: 'fallback' },
      output_guardrails: [{ 'default.contains': { words: ['bad'], operator: 'none' }, deny: true }],
      targets: targets.map(leaf),
    };
    const headers = { 'x-gateway-trace-id': `plan-${at}` };
    await inference.chat(key, { config, headers, params: { max_tokens: maxTokens } });
    const reached = inference.upstream.reached.slice(first);
    const requested = targets.slice(
      0,
      1 + targets.findIndex(({ behaviour }) => behaviour === 'answers'),
    );
    const all = requested.length === 0 ? targets : requested;
    const costs = all.map((target) =>
      costOf(target, target.behaviour === 'isNowhere' ? 0 : reached.shift()!.body.length),
    );
    expect(reached).toEqual([]);
    expected.set(`plan-${at}`, costs);
  }
  const sumOf = (costs: readonly number[]): number => costs.reduce((sum, cost) => sum + cost, 0);
  const sum = sumOf([...expected.values()].flat());
  await eventually(async () => expect(await keyUnits(inference.server.database.db, id)).toBe(sum));
  const byProvider: Record<string, number> = {};
  for (const row of await rowsOf(id, plans.length)) {
    const costs = expected.get(row.trace_id)!;
    const calls = [...row.earlier_attempts, row];
    const nothing = (cost: number): boolean => cost > 0;
    expect(calls.map(costOfValues).filter(nothing), row.trace_id).toEqual(costs.filter(nothing));
    expect(costOfValues(row), row.trace_id).toBe(costs.at(-1));
    for (const call of calls) {
      byProvider[call.provider!] = (byProvider[call.provider!] ?? 0) + costOfValues(call);
    }
  }
  const groups = await inference.server.request(
    'GET',
    `/v2/analytics/groups/providers?api_key_id=${id}`,
  );
  const summed = groups.body.data.map((one: { value: string; cost: number }) => [
    one.value,
    costOfValues(one),
  ]);
  expect(Object.fromEntries(summed)).toEqual(byProvider);
  expect(
    groups.body.data.reduce((all: number, one: { requests: number }) => all + one.requests, 0),
  ).toBe(plans.length);
});

it('charges both calls of a target that is retried after a lost response, and never exceeds its limit', async () => {
  const requests = { type: 'requests', unit: 'rpw', value: 100 };
  const { key, id } = await inference.addKey({
    usage_limits: { type: 'tokens', credit_limit: 100_000 },
    rate_limits: [requests],
  });
  const first = inference.upstream.reached.length;
  const config = {
    ...(leaf({ provider: 'mock-upstream', behaviour: 'saysNothing' }) as { custom_host: string }),
    retry: { attempts: 1, on_status_codes: [502] },
  };
  const answer = await inference.chat(key, { config, params: { max_tokens: maxTokens } });
  expect(answer).toMatchObject({
    status: 502,
    body: {
      error: {
        code: 'upstream_unreachable',
        message: expect.stringMatching(
          /^The provider mock-upstream at 127\.0\.0\.1:\d+ cannot be reached \(\w+\)$/,
        ),
      },
    },
  });
  const [one, other] = inference.upstream.reached.slice(first).map(({ body }) => body.length);
  const units = [one! + maxTokens, other! + maxTokens];
  await eventually(async () =>
    expect(await keyUnits(inference.server.database.db, id)).toBe(units[0]! + units[1]!),
  );
  expect(answer.headers.ratelimit).toContain(';r=99;');
  const [row] = await rowsOf(id, 1);
  const tokensOf = (call: { input_tokens: number | null; output_tokens: number | null }): number =>
    call.input_tokens! + call.output_tokens!;
  expect([...row!.earlier_attempts, row!].map(tokensOf)).toEqual(units);
  expect(row).toMatchObject({ is_estimated: true, earlier_attempts: [{ is_estimated: true }] });

  const few = await inference.addKey({
    usage_limits: { type: 'tokens', credit_limit: units[0]! + 20 },
  });
  const refused = await inference.chat(few.key, { config, params: { max_tokens: maxTokens } });
  expect(refused).toMatchObject({ status: 412, body: { error: { code: 'usage_limit_exceeded' } } });
  expect(inference.upstream.reached).toHaveLength(first + 3);
  await eventually(async () =>
    expect(await keyUnits(inference.server.database.db, few.id)).toBe(units[0]),
  );
});
