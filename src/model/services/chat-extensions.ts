/** Lists which members beyond the common ones a service accepts in chats. */
import { openAiModelServices } from './provider-addresses.ts';

export interface ChatExtensions {
  /** `cache_control` of parts, messages and tools. */
  readonly hasCacheControl: boolean;
  /** `top_k`. */
  readonly hasTopK: boolean;
  /** `prompt_cache_key`, `prompt_cache_retention` and `verbosity`. */
  readonly hasOpenAiHints: boolean;
  /**
   * Form in which reasoning of earlier turns is accepted: `reasoning_content`, `reasoning_details`, signatures of
   * Google in the calls alone, or not at all.
   */
  readonly reasoning: 'text' | 'details' | 'calls' | null;
}

const none: ChatExtensions = {
  hasCacheControl: false,
  hasTopK: false,
  hasOpenAiHints: false,
  reasoning: null,
};

/** A chat that becomes another format keeps all of them. */
const all: ChatExtensions = {
  hasCacheControl: true,
  hasTopK: true,
  hasOpenAiHints: true,
  reasoning: 'details',
};

const cacheControlServices = new Set(['openrouter', 'dashscope']);
const topKServices = new Set([
  'openrouter',
  'vllm',
  'together-ai',
  'fireworks-ai',
  'dashscope',
  'deepinfra',
  'siliconflow',
  'novita-ai',
  'huggingface',
  'nebius',
]);
const reasoningServices = new Map<string, ChatExtensions['reasoning']>([
  ['openrouter', 'details'],
  ['google', 'calls'],
  ['vertex-ai', 'calls'],
  ['deepseek', 'text'],
  ['moonshot', 'text'],
  ['z-ai', 'text'],
  ['zhipu', 'text'],
  ['dashscope', 'text'],
  ['siliconflow', 'text'],
  ['fireworks-ai', 'text'],
  ['vllm', 'text'],
]);

const byService = new Map<string, ChatExtensions>();

/** `isIntermediate` is true for a chat that is translated to another format. */
export function chatExtensionsOf(service: string, isIntermediate: boolean): ChatExtensions {
  if (isIntermediate) return all;
  return byService.get(service) ?? none;
}

for (const service of [
  ...cacheControlServices,
  ...topKServices,
  ...reasoningServices.keys(),
  ...openAiModelServices,
]) {
  byService.set(service, {
    hasCacheControl: cacheControlServices.has(service),
    hasTopK: topKServices.has(service),
    hasOpenAiHints: openAiModelServices.has(service),
    reasoning: reasoningServices.get(service) ?? null,
  });
}

/** Models that are known not to reason; they reject `reasoning_effort`. */
const plainModels =
  /^(?:[\w.-]+\/)*(?:gpt-[34]|gpt-5(?:\.\d)?-chat|chatgpt|llama|gemma|mistral|ministral|mixtral|codestral|devstral|pixtral|open-mi|command-|phi-[34]|claude-3-[05]|claude-3-(?:haiku|opus|sonnet))/i;

export function canReason(model: unknown): boolean {
  return typeof model !== 'string' || !plainModels.test(model);
}

/** Models of OpenAI that can be called without reasoning: `reasoning_effort: none`. */
const switchableModels = /^(?:[\w.-]+\/)*gpt-(?:5\.[1-9]|[6-9])/i;

export function canDisableReasoning(model: unknown): boolean {
  return typeof model === 'string' && switchableModels.test(model);
}

/** Models of OpenAI that always reason. */
const thinkers =
  /^(?:[\w.-]+\/)*(?:o[1-9]|gpt-5(?![.\d]|-chat)|gpt-(?:[5-9]|\d{2})(?:\.\d+)?-(?:codex|pro))/i;
/** Models of OpenAI that reason only when the request sets an effort. */
const switchable = /^(?:[\w.-]+\/)*gpt-(?:5\.[1-9]|[6-9]|\d{2})(?!.*-chat)/i;

/** Whether a model of OpenAI accepts `temperature`, `top_p` and penalties: none does while it reasons. */
export function canSample(model: unknown, effort: unknown): boolean {
  if (typeof model !== 'string') return true;
  if (thinkers.test(model)) return false;
  const isRequested = effort !== undefined && effort !== null && effort !== 'none';
  return !(switchable.test(model) && isRequested);
}
