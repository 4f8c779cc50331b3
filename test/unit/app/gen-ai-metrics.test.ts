/** Checks the metrics of model requests: names, labels, buckets, and the bound on the number of labels. */
import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it } from 'vitest';
import { GenAiMetrics } from '../../../src/app/request-metrics/gen-ai-metrics.ts';
import type { RequestRecord } from '../../../src/gateway/logs/request-record.ts';
import { requestRecord } from '../../support/rows/request-records.ts';

let register: Registry;
let metrics: GenAiMetrics;
beforeEach(() => {
  register = new Registry();
  metrics = new GenAiMetrics(register);
});

const observe = (more: Partial<RequestRecord> = {}): void =>
  metrics.observe(requestRecord('organisation', more));

/** The labels and values of one sample, sorted; the sample of a histogram has no buckets. */
async function samples(name: string): Promise<string[]> {
  const lines = (await register.metrics()).split('\n');
  return lines.filter((line) => line.startsWith(`${name}{`)).toSorted();
}

const gpt4 =
  'gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt-4o"';
const others =
  'gen_ai_operation_name="chat",gen_ai_provider_name="other",gen_ai_request_model="other"';

describe('the record of model requests in metrics', () => {
  it('measures duration and tokens by operation, provider and model', async () => {
    observe({ durationMs: 500 });
    observe({ durationMs: 1500, status: 429, tokens: null });
    const duration = 'gen_ai_server_request_duration_seconds';
    expect(await samples(`${duration}_sum`)).toEqual([
      `${duration}_sum{${gpt4},error_type=""} 0.5`,
      `${duration}_sum{${gpt4},error_type="429"} 1.5`,
    ]);
    const usage = 'gen_ai_client_token_usage';
    expect(await samples(`${usage}_sum`)).toEqual([
      `${usage}_sum{${gpt4},gen_ai_token_type="input"} 10`,
      `${usage}_sum{${gpt4},gen_ai_token_type="output"} 5`,
    ]);
    expect(await register.metrics()).toContain(
      `${usage}_bucket{le="16",${gpt4},gen_ai_token_type="input"} 1`,
    );
  });

  it('measures the first byte and the rest of a stream, and no other response', async () => {
    observe({ isStream: false });
    expect(await samples('gen_ai_server_time_to_first_token_seconds_count')).toEqual([]);
    observe({ isStream: true, firstByteMs: 200, durationMs: 1000 });
    expect(await samples('gen_ai_server_time_to_first_token_seconds_sum')).toEqual([
      `gen_ai_server_time_to_first_token_seconds_sum{${gpt4}} 0.2`,
    ]);
    expect(await samples('gen_ai_server_time_per_output_token_seconds_sum')).toEqual([
      `gen_ai_server_time_per_output_token_seconds_sum{${gpt4}} 0.2`,
    ]);
  });

  it('counts the tokens of earlier calls that were charged, and none of cached responses', async () => {
    const [tokens] = [
      { inputTokens: 7, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 },
    ];
    const attempt = {
      targetPath: 'config',
      status: 500,
      costUnits: 1,
      isEstimated: true,
      priceOrigin: null,
      tokens,
    };
    observe({ cacheStatus: 'HIT' });
    expect(await samples('gen_ai_client_token_usage_sum')).toEqual([]);
    observe({
      earlierAttempts: [{ ...attempt, provider: '@a', service: 'openai', model: 'gpt-4o' }],
    });
    observe({
      earlierAttempts: [{ ...attempt, provider: '@a', service: 'openai', model: 'gpt-4o' }],
    });
    const [input] = await samples('gen_ai_client_token_usage_sum');
    expect(input).toBe(`gen_ai_client_token_usage_sum{${gpt4},gen_ai_token_type="input"} 34`);
  });

  it('uses the provider names of the conventions, and escapes the names of models', async () => {
    observe({ service: 'azure-openai', model: 'a"\n\\b' });
    const [line] = await samples('gen_ai_server_request_duration_seconds_count');
    expect(line).toContain('gen_ai_provider_name="azure.ai.openai"');
    expect(line).toContain('gen_ai_request_model="a\\"\\n\\\\b"');
  });

  it('ignores requests that reached no provider or called no model', async () => {
    observe({ service: null });
    observe({ endpoint: 'models', tokens: null });
    const lines = (await register.metrics()).split('\n');
    expect(lines.filter((line) => line.startsWith('gen_ai'))).toEqual([]);
  });

  it('counts under other what never succeeded and what exceeds 200 models', async () => {
    observe({ model: 'misspelled', status: 404, tokens: null });
    for (let index = 0; index < 300; index += 1) observe({ model: `model-${index}` });
    observe({ model: 'model-0', status: 500, tokens: null });
    const counts = await samples('gen_ai_server_request_duration_seconds_count');
    const ofOthers = counts.filter((line) => line.includes('"other"'));
    expect(ofOthers).toEqual([
      `gen_ai_server_request_duration_seconds_count{${others},error_type=""} 100`,
      `gen_ai_server_request_duration_seconds_count{${others},error_type="404"} 1`,
    ]);
    expect(counts).toHaveLength(200 + 1 + 2);
    expect(await samples('gen_ai_client_token_usage_count')).toHaveLength(2 * 201);
  });

  it('limits the kinds of errors, and counts the rest as _OTHER', async () => {
    const statuses = [400, 401, 402, 403, 404, 408, 413, 422, 429, 499, 500, 502, 503, 504, 529];
    for (let index = 0; index < 100; index += 1) {
      observe({ model: `model-${index}` });
      for (const status of [...statuses, 418, 599]) {
        observe({ model: `model-${index}`, status, tokens: null });
      }
    }
    const counts = await samples('gen_ai_server_request_duration_seconds_count');
    const kinds = counts.map((line) => /error_type="(\w*)"/.exec(line)![1]);
    const known = kinds.filter((kind) => kind !== '' && kind !== '_OTHER');
    expect(known).toHaveLength(800);
    expect(kinds.filter((kind) => kind === '_OTHER')).toHaveLength(100);
    const total = counts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    expect(total).toBe(100 * (1 + statuses.length + 2));
  });
});
