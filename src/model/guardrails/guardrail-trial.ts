/** Defines the trial of a guardrail: a text, and what each of its checks makes of it. */
import { z } from 'zod';
import { described } from '../wire/described.ts';

/** Longest text, in UTF-16 code units. */
const textCharsMax = 100_000;

export const GuardrailTrialRequest = z.strictObject({
  text: described(z.string().min(1).max(textCharsMax), 'Text to judge, as one message.'),
  side: described(
    z.enum(['input', 'output']).default('input'),
    'Whether the text is that of a request or of a response.',
    { default: 'input' },
  ),
});
export type GuardrailTrialRequest = z.infer<typeof GuardrailTrialRequest>;

export const GuardrailTrialResult = z.object({
  object: z.literal('guardrail_trial'),
  verdict: z.enum(['passed', 'changed', 'failed', 'denied']),
  text: z.string(),
  checks: z.array(
    z.object({
      id: z.string(),
      verdict: z.enum(['passed', 'failed', 'unjudged', 'skipped']),
      duration_ms: z.number(),
      explanation: described(z.string(), 'Reason of the verdict.'),
    }),
  ),
});
export type GuardrailTrialResult = z.infer<typeof GuardrailTrialResult>;
