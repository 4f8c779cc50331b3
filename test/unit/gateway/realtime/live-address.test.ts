/** Verifies where a provider serves Gemini's live API, how it names the model, and how reports of usage add up. */
import { describe, expect, it } from 'vitest';
import { liveAddress } from '../../../../src/gateway/realtime/live/live-setup.ts';
import { liveUsageIn, withLiveReport } from '../../../../src/gateway/realtime/live/live-usage.ts';
import type { ResolvedTarget } from '../../../../src/gateway/targets/resolve-target.ts';

const service = 'GenerativeService.BidiGenerateContent';

describe('the address of the live API', () => {
  it.each([
    ['/v1beta/live', null, `/ws/google.ai.generativelanguage.v1beta.${service}`, 'models/m'],
    ['/v1beta/live', 'v1alpha', `/ws/google.ai.generativelanguage.v1alpha.${service}`, 'models/m'],
    ['/v1beta/live', 'v1/../x', `/ws/google.ai.generativelanguage.v1beta.${service}`, 'models/m'],
    [
      '/proxy/v1beta/live',
      'v1',
      `/proxy/ws/google.ai.generativelanguage.v1.${service}`,
      'models/m',
    ],
    [
      '/v1/projects/p/locations/us-east5/publishers/google/live',
      null,
      '/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent',
      'projects/p/locations/us-east5/publishers/google/models/m',
    ],
  ])('is found beside %s for version %s', (path, version, socketPath, model) => {
    const target = { call: { path }, model: 'm' } as ResolvedTarget;
    expect(liveAddress(target, version)).toEqual({ path: socketPath, model });
  });
});

describe('usage of a live session', () => {
  const report = (input: number, output: number) =>
    liveUsageIn({
      usageMetadata: {
        promptTokenCount: input,
        responseTokenCount: output,
        thoughtsTokenCount: 2,
        totalTokenCount: input + output + 2,
        responseTokensDetails: [{ modality: 'AUDIO', tokenCount: output }],
      },
    })!;

  it('has thoughts in the output, and sound apart', () => {
    expect(report(10, 5)).toMatchObject({
      inputTokens: 10,
      outputTokens: 7,
      details: { kinds: { audioOutput: 5 } },
    });
  });

  it('is undefined for a report that is not plausible, and null without one', () => {
    expect(liveUsageIn({ usageMetadata: { promptTokenCount: -1 } })).toBeUndefined();
    expect(liveUsageIn({ serverContent: {} })).toBeNull();
  });

  it('takes a report that grows in place of the earlier one, and adds any other', () => {
    expect(withLiveReport(report(10, 5), report(10, 9))).toMatchObject({ outputTokens: 11 });
    expect(withLiveReport(report(10, 5), report(10, 3))).toMatchObject({
      inputTokens: 20,
      outputTokens: 12,
      details: { kinds: { audioOutput: 8 } },
    });
  });
});
