/** Verifies mode monitor: guardrails judge and are recorded, and change nothing that is sent. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let key: string;

beforeAll(async () => {
  inference = await startInference();
  ({ key } = await inference.addKey());
});
beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});
afterAll(() => inference[Symbol.asyncDispose]());

const monitors = { deny: true, mode: 'monitor' };
const forbids = (word: string) => ({
  'default.contains': { words: [word], operator: 'none' },
  ...monitors,
});
const redacts = (rule: string) => ({ 'default.regexReplace': { rule }, ...monitors });
const asking = (content: string) => ({ messages: [{ role: 'user', content }] });

type Row = Record<string, unknown> & { readonly guardrail_checks: Record<string, unknown>[] };

async function logged(trace: unknown): Promise<Row> {
  const find = async (): Promise<Row[]> => {
    const { body } = await inference.server.request('GET', `/v1/logs?trace_id=${String(trace)}`);
    return body.data;
  };
  await expect.poll(find).toHaveLength(1);
  return (await find())[0]!;
}

describe('a guardrail with mode monitor', () => {
  it('lets a request pass that it would deny, and says so in its result and the log', async () => {
    const config = { input_guardrails: [forbids('bomb')] };
    const { status, body, headers } = await inference.chat(key, {
      config,
      params: asking('a bomb'),
    });
    expect(status).toBe(200);
    expect(body.hook_results.before_request_hooks).toMatchObject([
      { verdict: false, deny: false, mode: 'monitor', would_deny: true },
    ]);
    expect(await logged(headers['x-gateway-trace-id'])).toMatchObject({
      guardrail_verdict: 'monitored',
      guardrail_checks: [
        { check: 'default.contains', side: 'input', verdict: 'failed', is_monitored: true },
      ],
    });
  });

  it('changes no text of the request and of the response', async () => {
    const config = { input_guardrails: [redacts('bomb')], output_guardrails: [redacts('.')] };
    const { status, body } = await inference.chat(key, { config, params: asking('a bomb') });
    expect(status).toBe(200);
    expect(String(inference.upstream.reached[0]!.body)).toContain('a bomb');
    expect(body.choices).toEqual(chatAnswer.choices);
    expect(body.hook_results.after_request_hooks).toMatchObject([{ transformed: false }]);
  });

  it('lets what it cannot judge pass, and records that it could not judge', async () => {
    const webhookURL = `${inference.nowhere}/judge`;
    const webhook = { 'default.webhook': { webhookURL }, ...monitors, fail_closed: true };
    const passed = await inference.chat(key, { config: { input_guardrails: [webhook] } });
    expect(passed.status).toBe(200);
    expect(await logged(passed.headers['x-gateway-trace-id'])).toMatchObject({
      guardrail_checks: [{ check: 'default.webhook', verdict: 'unjudged' }],
    });
  });

  it('does not hold a stream back, and judges it after its end', async () => {
    const first = Promise.withResolvers<void>();
    inference.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = (content: string) =>
        `data: ${JSON.stringify({ ...chatAnswer, choices: [{ index: 0, delta: { content } }] })}\n\n`;
      response.write(chunk('a bo'));
      void first.promise.then(() => response.end(`${chunk('mb')}data: [DONE]\n\n`));
    };
    const config = {
      provider: 'mock-upstream',
      custom_host: inference.upstream.url,
      output_guardrails: [forbids('bomb')],
    };
    const response = await fetch(`${inference.server.inferenceUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${key}`,
        'x-gateway-config': JSON.stringify(config),
      },
      body: JSON.stringify({ model: 'gpt-4o', stream: true, ...asking('hello') }),
    });
    const reader = response.body!.getReader();
    const { value } = await reader.read();
    expect(Buffer.from(value!).toString()).toContain('a bo');
    first.resolve();
    for (let end = false; !end; ) end = (await reader.read()).done;
    expect(await logged(response.headers.get('x-gateway-trace-id'))).toMatchObject({
      status: 200,
      guardrail_verdict: 'monitored',
      guardrail_checks: [{ side: 'output', verdict: 'failed', is_monitored: true }],
    });
  });
});

it('groups requests by check, and counts checks in metrics', async () => {
  const { body } = await inference.server.request('GET', '/v1/analytics/groups/guardrail_check');
  const rows = body.data as { readonly guardrail_check: string }[];
  const rowOf = (check: string) => rows.find((row) => row.guardrail_check.endsWith(check));
  expect(rowOf('/default.webhook')).toMatchObject({ guardrail_unjudged: 1, requests: 1 });
  expect(rowOf('input_guardrails[0]/default.contains')).toMatchObject({ guardrail_monitored: 1 });
  const metrics = await fetch(`${inference.server.metricsUrl}/metrics`);
  expect(await metrics.text()).toMatch(
    /^gatewright_guardrail_checks_total\{check="default.contains",verdict="failed"\} 2$/m,
  );
});
