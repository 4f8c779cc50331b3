/** Converts the token counts of Gemini to those of a chat, and back. */
import type { Json } from '../documents/document-node.ts';

function countOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** Results of tools that Google ran are input; thoughts are output. */
export function chatUsage(usage: Json): Json {
  const input = countOf(usage.promptTokenCount) + countOf(usage.toolUsePromptTokenCount);
  const thoughts = countOf(usage.thoughtsTokenCount);
  const output = countOf(usage.candidatesTokenCount) + thoughts;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: countOf(usage.cachedContentTokenCount) },
    completion_tokens_details: { reasoning_tokens: thoughts },
  };
}

export function geminiUsage(usage: Json): Json {
  const input = countOf(usage.prompt_tokens);
  const output = countOf(usage.completion_tokens);
  const thoughts = countOf((usage.completion_tokens_details as Json | null)?.reasoning_tokens);
  const cached = countOf((usage.prompt_tokens_details as Json | null)?.cached_tokens);
  return {
    promptTokenCount: input,
    candidatesTokenCount: Math.max(0, output - thoughts),
    totalTokenCount: input + output,
    ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
    ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
  };
}
