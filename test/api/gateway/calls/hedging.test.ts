/** Verifies second requests: the first answer counts, the other call is cancelled, charged and logged. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RequestLogRecord } from '../../../../src/model/logs/request-log.ts';
import { eventually } from '../../../support/server/eventually.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { logIsWritten } from '../../../support/server/request-log.ts';
import { chatAnswer, sendJson } from '../../../support/upstream/upstream.ts';

type Behaviour = (response: ServerResponse) => void;

let inference: Inference;
let keyId: string;
let key: string;
let run = 0;
/** How each target responds, by the first step of its path. */
let behaviours: Record<string, Behaviour>;
/** Targets whose connection the gateway closed before they answered. */
let cancelled: string[];

const answers: Behaviour = (response) => sendJson(response, chatAnswer);
const chunk = {
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-4o',
  choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
const stalls: Behaviour = () => undefined;
const fails: Behaviour = (response) => sendJson(response, { error: {} }, 503);
const dies: Behaviour = (response) => void response.socket!.destroy();

beforeAll(async () => {
  inference = await startInference();
  inference.upstream.script = ({ url }, response) => {
    const name = url.split('/')[1]!;
    response.on('close', () => {
      if (!response.writableEnded) cancelled.push(name);
    });
    (behaviours[name] ?? answers)(response);
  };
});

beforeEach(async () => {
  const added = await inference.addKey();
  ({ key } = added);
  keyId = added.id;
  inference.upstream.reached.length = 0;
  behaviours = {};
  cancelled = [];
  run += 1;
});

afterAll(() => inference[Symbol.asyncDispose]());

/** A config of its own for each test, so that statistics of others do not count. */
function configOf(hedge: object = {}, more: object = {}): object {
  const { host } = inference.upstream;
  const targets = ['a', 'b'].map((name) => ({
    provider: 'openai',
    api_key: 'sk',
    custom_host: `http://${host}/${name}`,
    override_params: { model: 'gpt-4o', user: `run ${run}` },
  }));
  const rule = { percentile: 99, max_percent: 100, min_ms: 20, ...hedge };
  return { strategy: { mode: 'fallback', hedge: rule, ...more }, targets };
}

const reached = (name: string): number =>
  inference.upstream.reached.filter(({ url }) => url.startsWith(`/${name}/`)).length;

async function warmUp(config: object, params: object = {}): Promise<void> {
  for (let n = 0; n < 10; n += 1) await inference.chat(key, { config, params });
  expect(reached('a')).toBe(10);
}

/** Holds the next answer of the first target; returns it once the target has been called. */
function lateAnswer(): () => ServerResponse {
  let late: ServerResponse | null = null;
  behaviours.a = (response) => {
    late = response;
  };
  return () => late!;
}

async function ask(config: object, params: object = {}) {
  const answer = await inference.chat(key, { config, params });
  const { headers } = answer;
  return {
    status: answer.status,
    place: headers['x-gateway-last-used-option-index'],
    selection: headers['x-gateway-target-selection'],
  };
}

/** The row of the only request with two calls; the warm-up has ten others. */
async function hedgedRow(): Promise<RequestLogRecord> {
  await logIsWritten(inference.server);
  const path = `/admin/v2/logs?api_key_id=${keyId}`;
  const rows = (await inference.server.request('GET', path)).body.data as RequestLogRecord[];
  expect(rows).toHaveLength(11);
  const found = rows.filter((row) => row.earlier_attempts.length > 0);
  expect(found).toHaveLength(1);
  return found[0]!;
}

async function hedges(result: string): Promise<number> {
  const text = await (await fetch(`${inference.server.metricsUrl}/metrics`)).text();
  const found = new RegExp(`gatewright_hedged_requests_total\\{result="${result}"\\} (\\d+)`);
  return Number(found.exec(text)?.[1] ?? 0);
}

const [first, second] = ['config.targets[0]', 'config.targets[1]'];

describe('a request whose target stalls', () => {
  it('is answered by the next target; the first call is cancelled, charged and logged', async () => {
    const config = configOf();
    await warmUp(config);
    const won = await hedges('won');
    behaviours.a = stalls;
    expect(await ask(config)).toEqual({ status: 200, place: second, selection: 'hedge' });
    await eventually(() => expect(cancelled).toEqual(['a']));
    const row = await hedgedRow();
    expect(row).toMatchObject({ status: 200, target_selection: 'hedge', target_path: second });
    expect(row.earlier_attempts).toMatchObject([
      { status: 499, target_path: first, is_estimated: true },
    ]);
    expect(await hedges('won')).toBe(won + 1);
  });

  it('is answered by the first target if that is sooner after all', async () => {
    const config = configOf();
    await warmUp(config);
    const lost = await hedges('lost');
    const late = lateAnswer();
    behaviours.b = () => answers(late());
    expect(await ask(config)).toMatchObject({ status: 200, place: first, selection: undefined });
    await eventually(() => expect(cancelled).toEqual(['b']));
    const row = await hedgedRow();
    expect(row.earlier_attempts).toMatchObject([{ status: 499, target_path: second }]);
    expect(row.target_selection).toBeNull();
    expect(await hedges('lost')).toBe(lost + 1);
  });

  it.each<[string, Behaviour, Behaviour, string]>([
    ['the first dies', dies, answers, second],
    ['the second dies', answers, dies, first],
    ['the second fails', answers, fails, first],
    ['the first fails', fails, answers, second],
  ])('is answered by the other target when %s', async (_, ofFirst, ofSecond, place) => {
    const config = configOf();
    await warmUp(config);
    const late = lateAnswer();
    behaviours.b = (response) => {
      const [bad, good] = place === first ? [ofSecond, ofFirst] : [ofFirst, ofSecond];
      const [failing, answering] = place === first ? [response, late()] : [late(), response];
      bad(failing);
      setImmediate(good, answering);
    };
    expect(await ask(config)).toMatchObject({ status: 200, place });
    expect(reached('b')).toBe(1);
  });

  it('gets one answer when both targets answer at once, and counts once', async () => {
    const config = configOf();
    await warmUp(config);
    const late = lateAnswer();
    behaviours.b = (response) => {
      answers(late());
      answers(response);
    };
    expect(await ask(config)).toMatchObject({ status: 200 });
    const row = await hedgedRow();
    expect(row.earlier_attempts).toHaveLength(1);
    expect([reached('a'), reached('b')]).toEqual([11, 1]);
  });

  it('fails as the first call when both fail', async () => {
    const config = configOf({}, { mode: 'single' });
    await warmUp(config);
    let late: ServerResponse | null = null;
    behaviours.a = (response) => {
      if (late === null) late = response;
      else {
        fails(late);
        fails(response);
      }
    };
    expect(await ask(config)).toMatchObject({ status: 503 });
    expect(reached('a')).toBe(12);
  });
});

describe('the call that another one overtook', () => {
  it('is charged as a stream that its caller aborts, without any output', async () => {
    const config = configOf();
    behaviours.a = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
    };
    behaviours.b = behaviours.a;
    await warmUp(config, { stream: true, max_tokens: 50 });
    behaviours.a = stalls;
    expect(await ask(config, { stream: true, max_tokens: 50 })).toMatchObject({ place: second });
    const row = await hedgedRow();
    expect(row.earlier_attempts).toMatchObject([
      { status: 499, is_estimated: true, output_tokens: 0 },
    ]);
    expect(row.earlier_attempts[0]!.input_tokens).toBeGreaterThan(0);
  });

  it('ends with the other when the caller leaves', async () => {
    const config = configOf();
    await warmUp(config);
    behaviours.a = stalls;
    behaviours.b = stalls;
    const controller = new AbortController();
    const request = fetch(`${inference.server.inferenceUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        // The text of the warm-up, because statistics belong to a config.
        'x-gateway-config': JSON.stringify({
          provider: 'mock-upstream',
          custom_host: inference.upstream.url,
          ...config,
        }),
      },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] }),
      signal: controller.signal,
    });
    await eventually(() => expect(reached('b')).toBe(1));
    controller.abort();
    await expect(request).rejects.toThrow();
    await eventually(() => expect(cancelled.toSorted()).toEqual(['a', 'b']));
  });
});

describe('a second request', () => {
  it('is not sent after the first byte of an answer', async () => {
    const config = configOf({ min_ms: 100 });
    const stream = (response: ServerResponse): void => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      setTimeout(() => response.end('data: [DONE]\n\n'), 300);
    };
    behaviours.a = stream;
    await warmUp(config, { stream: true });
    expect(await ask(config, { stream: true })).toMatchObject({ status: 200, place: first });
    expect(reached('b')).toBe(0);
  });

  it('is sent for a share of the requests only', async () => {
    const config = configOf({ max_percent: 10 });
    await warmUp(config);
    behaviours.a = (response) => void setTimeout(() => answers(response), 100);
    const places = [await ask(config), await ask(config), await ask(config)];
    expect(places.map(({ place }) => place)).toEqual([second, first, first]);
    expect(reached('b')).toBe(1);
  });

  it('is not sent for a request that creates an object', async () => {
    const config = configOf();
    await warmUp(config);
    behaviours.a = (response) => void setTimeout(() => answers(response), 100);
    expect(await ask(config, { store: true })).toMatchObject({ status: 200, place: first });
    expect(reached('b')).toBe(0);
  });

  it('is not sent when a limit has no room for both, and never exceeds it', async () => {
    const config = configOf();
    await warmUp(config, { max_tokens: 10 });
    const usage_limits = { type: 'tokens', credit_limit: 130 };
    const limited = await inference.addKey({ usage_limits });
    behaviours.a = (response) => void setTimeout(() => answers(response), 100);
    const params = { max_tokens: 60 };
    const answer = await inference.chat(limited.key, { config, params });
    expect(answer.body).toMatchObject({ object: 'chat.completion' });
    expect(answer.headers['x-gateway-last-used-option-index']).toBe(first);
    expect([answer.status, reached('b')]).toEqual([200, 0]);
    const wide = await inference.addKey({ usage_limits: { type: 'tokens', credit_limit: 1000 } });
    behaviours.a = stalls;
    const hedged = await inference.chat(wide.key, { config, params });
    expect(hedged.headers['x-gateway-last-used-option-index']).toBe(second);
    await logIsWritten(inference.server);
    const path = `/admin/v2/logs?api_key_id=${wide.id}`;
    const [row] = (await inference.server.request('GET', path)).body.data as RequestLogRecord[];
    const [other] = row!.earlier_attempts;
    // The granted output of the cancelled call is charged, because it may have been used.
    expect(other).toMatchObject({ status: 499, is_estimated: true, output_tokens: 60 });
  });
});

describe('a config with hedge', () => {
  it.each([
    [{ strategy: { mode: 'conditional', hedge: {} } }, 'requires the mode'],
    [{ targets: [{ strategy: { mode: 'single' }, targets: [{ provider: 'openai' }] }] }, 'targets'],
    [{ targets: [{ provider: 'openai', input_guardrails: ['x'] }] }, 'guardrails'],
    [{ strategy: { mode: 'fallback', hedge: { percentile: 10 } } }, 'percentile'],
  ])('is refused where it cannot apply, %j', async (more, message) => {
    const config = { ...configOf(), ...more };
    const { body, status } = await inference.chat(key, { config });
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain(message);
  });
});
