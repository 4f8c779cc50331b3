/** Tests that no check denies a prompt of the benign corpus with its default settings. */
import { afterAll, describe, expect, it } from 'vitest';
import { benignPrompts } from '../../../corpora/guardrails/benign.ts';
import { InlineJudge } from './inline-judgement.ts';

const judge = new InlineJudge();

afterAll(() => judge[Symbol.asyncDispose]());

describe('benign prompts', () => {
  it.each([
    ['gatewright.pii', {}],
    ['gatewright.secrets', {}],
    ['gatewright.profanity', {}],
    ['gatewright.injection', { failOnDetection: true }],
    ['portkey.gibberish', {}],
  ])('passes all of them by %s', async (id, parameters) => {
    const prompts = benignPrompts();
    expect(prompts.length).toBeGreaterThan(1_000);
    const denied: string[] = [];
    for (const prompt of prompts) {
      const { isDenied } = await judge.judge({ [id]: parameters, deny: true }, prompt);
      if (isDenied) denied.push(prompt);
    }
    expect(denied).toEqual([]);
  });
});
