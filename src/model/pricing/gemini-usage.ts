/** Reads the token counts of a response in Gemini's format under the names of a chat. */
import { isObject } from '../json/read-object.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Null for a body of another format. */
export function geminiUsageIn({ usageMetadata: usage }: JsonObject): JsonObject | null {
  return isObject(usage) ? chatCounts(usage) : null;
}

/** The counts of an interaction under the names of a chat; null for usage in another form. */
export function interactionUsageIn(usage: JsonObject): JsonObject | null {
  const { total_input_tokens: input, total_output_tokens: output } = usage;
  if (input === undefined && output === undefined) return null;
  const thoughts = usage.total_thought_tokens ?? 0;
  return {
    prompt_tokens: sumOf(input, usage.total_tool_use_tokens ?? 0),
    completion_tokens: sumOf(output ?? 0, thoughts),
    total_tokens: usage.total_tokens,
    prompt_tokens_details: {
      cached_tokens: usage.total_cached_tokens,
      ...interactionCounts(usage.input_tokens_by_modality),
    },
    completion_tokens_details: {
      reasoning_tokens: usage.total_thought_tokens,
      ...interactionCounts(usage.output_tokens_by_modality),
    },
  };
}

function interactionCounts(list: unknown): JsonObject {
  if (!Array.isArray(list)) return {};
  const counts = list.map((one: unknown) => {
    const { modality, tokens } = isObject(one) ? one : {};
    return { modality: String(modality).toUpperCase(), tokenCount: tokens };
  });
  return countsByKind(counts);
}

/** Results of tools that Google ran are input, thoughts are output. */
function chatCounts(usage: JsonObject): JsonObject {
  const { promptTokenCount: prompt, candidatesTokenCount: output, totalTokenCount: total } = usage;
  const thoughts = usage.thoughtsTokenCount ?? 0;
  return {
    prompt_tokens: sumOf(prompt, usage.toolUsePromptTokenCount ?? 0),
    // A response without an answer has no count of it.
    completion_tokens: sumOf(output ?? (prompt === undefined ? undefined : 0), thoughts),
    total_tokens: total,
    prompt_tokens_details: {
      cached_tokens: usage.cachedContentTokenCount,
      ...countsByKind(usage.promptTokensDetails),
    },
    completion_tokens_details: {
      reasoning_tokens: usage.thoughtsTokenCount,
      ...countsByKind(usage.candidatesTokensDetails),
    },
  };
}

/** Values that are no counts are kept, so that they are found to be implausible. */
function sumOf(one: unknown, other: unknown): unknown {
  if (one === undefined || one === null) return undefined;
  if (typeof one !== 'number') return one;
  return typeof other === 'number' ? one + other : other;
}

function countsByKind(details: unknown): JsonObject {
  if (!Array.isArray(details)) return {};
  return Object.fromEntries(
    details.flatMap((one: unknown) => {
      const { modality, tokenCount } = isObject(one) ? one : {};
      const name = typeof modality === 'string' ? namesByModality.get(modality) : undefined;
      return name === undefined ? [] : [[name, tokenCount]];
    }),
  );
}

const namesByModality = new Map([
  ['AUDIO', 'audio_tokens'],
  ['IMAGE', 'image_tokens'],
]);
