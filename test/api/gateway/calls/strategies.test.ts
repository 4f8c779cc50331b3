/** Verifies load balancing by latency and cost, unhealthy targets, and fallbacks for prompts that are too long. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RequestLogRecord } from '../../../../src/model/logs/request-log.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { logIsWritten } from '../../../support/server/request-log.ts';
import { chatAnswer, sendJson } from '../../../support/upstream/upstream.ts';

let inference: Inference;
let key: string;
/** How each target responds, by the first step of its path. */
let behaviours: Record<string, (response: ServerResponse) => void>;

const answers = (response: ServerResponse): void => sendJson(response, chatAnswer);
const fails = (response: ServerResponse): void => sendJson(response, { error: {} }, 503);

beforeAll(async () => {
  inference = await startInference();
  ({ key } = await inference.addKey());
  inference.upstream.script = ({ url }, response) => {
    (behaviours[url.split('/')[1]!] ?? answers)(response);
  };
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
  behaviours = {};
});

afterAll(() => inference[Symbol.asyncDispose]());

function target(name: string, more: object = {}): object {
  const { host } = inference.upstream;
  return { provider: 'mock-upstream', custom_host: `http://${host}/${name}`, ...more };
}

async function ask(config: object, more: object = {}) {
  const answer = await inference.chat(key, { config, ...more });
  const place = answer.headers['x-gateway-last-used-option-index'];
  return { ...answer, place, selection: answer.headers['x-gateway-target-selection'] };
}

const reached = (name: string): number =>
  inference.upstream.reached.filter(({ url }) => url.startsWith(`/${name}/`)).length;

describe('a load balance', () => {
  it('calls the target where the request costs least, and names the reason in header, log and metrics', async () => {
    const one = await inference.addKey();
    const config = {
      strategy: { mode: 'loadbalance', balance_by: 'cost' },
      targets: [
        target('dear', { provider: 'openai', override_params: { model: 'gpt-4o' } }),
        target('cheap', { provider: 'openai', override_params: { model: 'gpt-4o-mini' } }),
        target('unknown', { provider: 'openai', override_params: { model: 'no such model' } }),
      ],
    };
    for (let n = 0; n < 3; n += 1) {
      const answer = await inference.chat(one.key, { config, params: { max_tokens: 5 } });
      expect(answer.headers).toMatchObject({
        'x-gateway-last-used-option-index': 'config.targets[1]',
        'x-gateway-target-selection': 'cost',
      });
    }
    await logIsWritten(inference.server);
    const path = `/admin/v2/logs?api_key_id=${one.id}`;
    const rows = (await inference.server.request('GET', path)).body.data as RequestLogRecord[];
    expect(rows.map(({ target_selection }) => target_selection)).toEqual(['cost', 'cost', 'cost']);
    const metrics = await (await fetch(`${inference.server.metricsUrl}/metrics`)).text();
    expect(metrics).toMatch(
      /gatewright_target_selections_total\{selection="cost",service="openai"\} 3/,
    );
  });

  it('measures each target once, then calls the fastest by latency', async () => {
    behaviours.slow = (response) => void setTimeout(() => answers(response), 300);
    const config = {
      strategy: { mode: 'loadbalance', balance_by: 'latency' },
      targets: [target('slow'), target('fast')],
    };
    const selections = [await ask(config), await ask(config)].map(({ selection }) => selection);
    expect(selections).toEqual(['probe', 'probe']);
    for (let n = 0; n < 5; n += 1) {
      expect(await ask(config)).toMatchObject({ selection: 'latency', place: 'config.targets[1]' });
    }
    expect([reached('slow'), reached('fast')]).toEqual([1, 6]);
  });

  it('avoids an unhealthy target, which one request tests', async () => {
    behaviours.broken = fails;
    const config = {
      strategy: { mode: 'loadbalance', skip_unhealthy: true },
      targets: [target('broken', { weight: 1_000_000 }), target('whole', { weight: 1 })],
    };
    for (let n = 0; n < 3; n += 1) expect((await ask(config)).status).toBe(503);
    expect(await ask(config)).toMatchObject({ status: 503, selection: 'probe' });
    for (let n = 0; n < 5; n += 1) {
      const { status, place } = await ask(config);
      expect([status, place]).toEqual([200, 'config.targets[1]']);
    }
    expect(reached('broken')).toBe(4);
  });

  it('keeps a sticky target, and the selection by weight tells no reason', async () => {
    const config = {
      strategy: { mode: 'loadbalance', sticky: { enabled: true, hash_fields: ['params.user'] } },
      targets: [target('one'), target('two'), target('three')],
    };
    const got = [];
    for (let n = 0; n < 5; n += 1) got.push(await ask(config, { params: { user: 'ann' } }));
    expect(new Set(got.map(({ place }) => place)).size).toBe(1);
    expect(got[0]!.selection).toBeUndefined();
  });
});

describe('a fallback', () => {
  it('tries unhealthy targets last', async () => {
    behaviours.down = fails;
    const config = {
      strategy: { mode: 'fallback', skip_unhealthy: true },
      targets: [target('down'), target('up')],
    };
    for (let n = 0; n < 4; n += 1) {
      expect(await ask(config)).toMatchObject({ status: 200, selection: 'fallback' });
    }
    const before = reached('down');
    for (let n = 0; n < 5; n += 1) {
      expect(await ask(config)).toMatchObject({ status: 200, place: 'config.targets[1]' });
    }
    expect(reached('down')).toBeLessThanOrEqual(before + 1);
  });

  it.each<[string, number, object]>([
    ['OpenAI', 400, { code: 'context_length_exceeded', message: 'too long' }],
    ['Anthropic', 400, { message: 'prompt is too long: 210000 tokens > 200000 maximum' }],
    ['another provider', 413, { message: 'Input exceeds the maximum number of tokens' }],
  ])(
    'continues when %s says that the prompt is too long, and with no other error',
    async (...row) => {
      const [, status, error] = row;
      behaviours.small = (response) => sendJson(response, { error }, status);
      const config = {
        strategy: { mode: 'fallback', on_status_codes: [503], on_context_window: true },
        targets: [target('small'), target('large')],
      };
      expect(await ask(config)).toMatchObject({ status: 200, selection: 'context_window' });
      const refusal = { error: { message: 'temperature is too high' } };
      behaviours.small = (response) => sendJson(response, refusal, 400);
      const refused = await ask(config);
      expect(refused).toMatchObject({ status: 400, body: refusal, place: 'config.targets[0]' });
      expect(refused.selection).toBeUndefined();
    },
  );

  it('skips targets that are known to be too small, without calling them', async () => {
    const config = {
      strategy: { mode: 'fallback', on_context_window: true },
      targets: [target('tiny', { context_window: 10 }), target('large')],
    };
    const params = { messages: [{ role: 'user', content: 'word '.repeat(200) }] };
    const answer = await ask(config, { params });
    expect(answer).toMatchObject({ selection: 'context_window', place: 'config.targets[1]' });
    expect(reached('tiny')).toBe(0);
    const short = { messages: [{ role: 'user', content: 'a' }] };
    const fitting = {
      ...config,
      targets: [target('tiny', { context_window: 500 }), target('large')],
    };
    expect((await ask(fitting, { params: short })).place).toBe('config.targets[0]');
  });

  it('knows published context windows', async () => {
    const config = {
      strategy: { mode: 'fallback', on_context_window: true },
      targets: [
        target('old', { provider: 'openai', override_params: { model: 'gpt-3.5-turbo' } }),
        target('large'),
      ],
    };
    const params = { messages: [{ role: 'user', content: 'word '.repeat(40_000) }] };
    expect((await ask(config, { params })).selection).toBe('context_window');
    expect(reached('old')).toBe(0);
  });
});

describe('a config', () => {
  const targets = [{ provider: 'openai' }];
  it.each<[string, object, string]>([
    ['balance_by in a fallback', { mode: 'fallback', balance_by: 'cost' }, 'balance_by'],
    ['an unknown balance', { mode: 'loadbalance', balance_by: 'size' }, 'balance_by'],
    ['skip_unhealthy in a condition', { mode: 'single', skip_unhealthy: true }, 'skip_unhealthy'],
    [
      'on_context_window in a load balance',
      { mode: 'loadbalance', on_context_window: true },
      'on_context_window',
    ],
    [
      'sticky beside latency',
      { mode: 'loadbalance', balance_by: 'latency', sticky: { enabled: true } },
      'sticky',
    ],
  ])('is refused for %s', async (_, strategy, path) => {
    const refused = await inference.chat(key, { config: { strategy, targets } });
    expect(refused.status).toBe(400);
    expect(refused.body.error.message).toContain(`strategy.${path}`);
  });
});
