/** Translates a response from Anthropic's format to OpenAI's. */
import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { ProviderFault } from '../translation/translation.ts';

/** @throws NotTranslatable */
export function openAiResponse(body: unknown, now: number): Json {
  const message = new DocumentNode(body);
  const texts: string[] = [];
  const calls: Json[] = [];
  for (const block of message.at('content').items()) {
    const type = block.at('type').text();
    if (type === 'text') texts.push(block.at('text').text());
    if (type === 'tool_use') calls.push(toolCall(block));
  }
  const reply = {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join(''),
    refusal: null,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return {
    id: message.at('id').text(),
    object: 'chat.completion',
    created: Math.floor(now / 1000),
    model: message.at('model').text(),
    choices: [
      {
        index: 0,
        message: reply,
        logprobs: null,
        finish_reason: finishReason(message.at('stop_reason').value),
      },
    ],
    usage: openAiUsage(message.at('usage').json()),
  };
}

function toolCall(block: DocumentNode): Json {
  return {
    id: block.at('id').text(),
    type: 'function',
    function: {
      name: block.at('name').text(),
      arguments: JSON.stringify(block.at('input').json()),
    },
  };
}

/** Maps a stop reason to a finish reason. */
export function finishReason(reason: unknown): string {
  return (typeof reason === 'string' ? finishReasons.get(reason) : undefined) ?? 'stop';
}

const finishReasons = new Map([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
]);

/** Anthropic counts cached tokens separately; OpenAI includes them in the prompt tokens. */
export function openAiUsage(usage: Json): Json {
  const cached = countOf(usage.cache_read_input_tokens);
  const written = countOf(usage.cache_creation_input_tokens);
  const input = countOf(usage.input_tokens) + cached + written;
  const output = countOf(usage.output_tokens);
  const reasoningTokens = (usage.output_tokens_details as Json | null | undefined)?.thinking_tokens;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    ...(typeof reasoningTokens === 'number'
      ? { completion_tokens_details: { reasoning_tokens: reasoningTokens } }
      : {}),
  };
}

export function countOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

export function openAiError({ message, type }: ProviderFault): Json {
  return { error: { message, type: type ?? 'api_error', param: null, code: null } };
}
