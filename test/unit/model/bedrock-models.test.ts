/** Verifies in which form Bedrock serves a model, and the path of a model. */
import { describe, expect, it } from 'vitest';
import { bedrockDialect, bedrockModelPath } from '../../../src/model/services/bedrock-models.ts';

const arn = 'arn:aws:bedrock:eu-central-1:123456789012:';

describe('a model of Bedrock', () => {
  it.each([
    ['anthropic.claude-sonnet-4-5-20250929-v1:0', 'bedrock-anthropic'],
    ['us.anthropic.claude-opus-4-1-20250805-v1:0', 'bedrock-anthropic'],
    ['global.anthropic.claude-haiku-4-5-20251001-v1:0', 'bedrock-anthropic'],
    ['us-gov.anthropic.claude-3-5-sonnet-20240620-v1:0', 'bedrock-anthropic'],
    [`${arn}inference-profile/eu.anthropic.claude-sonnet-4-20250514-v1:0`, 'bedrock-anthropic'],
    [`${arn}:foundation-model/anthropic.claude-3-haiku-20240307-v1:0`, 'bedrock-anthropic'],
    ['openai.gpt-oss-120b-1:0', 'bedrock-openai'],
    ['us.openai.gpt-5.5', 'bedrock-openai'],
    ['amazon.nova-pro-v1:0', 'bedrock-converse'],
    ['us.meta.llama3-3-70b-instruct-v1:0', 'bedrock-converse'],
    ['deepseek.v3.1', 'bedrock-converse'],
    [`${arn}application-inference-profile/abc123`, 'bedrock-converse'],
    [`${arn}provisioned-model/xyz`, 'bedrock-converse'],
    [null, 'bedrock-converse'],
  ])('is served in a form by its vendor: %s', (model, form) => {
    expect(bedrockDialect(model, undefined)).toBe(form);
  });

  it('is served in the form that the account sets', () => {
    expect(bedrockDialect(`${arn}application-inference-profile/abc`, 'invoke')).toBe(
      'bedrock-anthropic',
    );
    expect(bedrockDialect('anthropic.claude-3', 'converse')).toBe('bedrock-converse');
    expect(bedrockDialect('anthropic.claude-3', 'unknown')).toBe('bedrock-anthropic');
  });

  it('has a path in which every reserved character is encoded', () => {
    expect(bedrockModelPath(`${arn}inference-profile/us.a.b-v1:0`, 'invoke')).toBe(
      '/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A123456789012%3Ainference-profile%2Fus.a.b-v1%3A0/invoke',
    );
    expect(bedrockModelPath("a!'()*?#", 'converse')).toBe('/model/a%21%27%28%29%2A%3F%23/converse');
  });
});
