/** Translates a response from Anthropic's format to OpenAI's. */
import { DocumentNode, type Json } from '../documents/document-node.ts';
import { customToolInput } from '../translation/custom-tools.ts';
import { anthropicReasoning, type ReasoningDetail } from '../translation/reasoning.ts';
import type { ProviderFault, TranslationContext } from '../translation/translation.ts';

/** @throws NotTranslatable */
export function openAiResponse(
  body: unknown,
  { now, customTools }: Pick<TranslationContext, 'now' | 'customTools'>,
): Json {
  const message = new DocumentNode(body);
  const texts: string[] = [];
  const calls: Json[] = [];
  const details: ReasoningDetail[] = [];
  const annotations: Json[] = [];
  for (const block of message.at('content').items()) {
    const type = block.at('type').text();
    if (type === 'text') {
      annotations.push(...annotationsOf(block, texts.join('').length));
      texts.push(block.at('text').text());
    }
    if (type === 'tool_use') calls.push(toolCall(block, customTools));
    if (type === 'thinking' || type === 'redacted_thinking') {
      details.push(detailOf(block, details.length));
    }
  }
  const reply = {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join(''),
    refusal: null,
    ...reasoningMembers(details),
    ...(annotations.length === 0 ? {} : { annotations }),
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

function toolCall(block: DocumentNode, customTools: ReadonlySet<string> | undefined): Json {
  const id = block.at('id').text();
  const name = block.at('name').text();
  const text = JSON.stringify(block.at('input').json());
  return customTools?.has(name) === true
    ? { id, type: 'custom', custom: { name, input: customToolInput(text) } }
    : { id, type: 'function', function: { name, arguments: text } };
}

function detailOf(block: DocumentNode, index: number): ReasoningDetail {
  const format = anthropicReasoning;
  if (block.at('type').value === 'redacted_thinking') {
    return { type: 'reasoning.encrypted', data: block.at('data').text(), format, index };
  }
  const signature = block.at('signature');
  const signed = signature.isText ? { signature: signature.text() } : {};
  return { type: 'reasoning.text', text: block.at('thinking').text(), ...signed, format, index };
}

/** Members of a message, or of a delta, with reasoning; none without any. */
function reasoningMembers(details: readonly ReasoningDetail[]): Json {
  if (details.length === 0) return {};
  const text = details.map(({ text }) => text ?? '').join('');
  return { ...(text === '' ? {} : { reasoning_content: text }), reasoning_details: details };
}

/** The results of searches that a text cites; OpenAI has no form for other citations. */
function annotationsOf(block: DocumentNode, start: number): Json[] {
  const citations = block.at('citations');
  if (citations.isAbsent) return [];
  const end = start + block.at('text').text().length;
  return citations.items().flatMap((one) => annotationOf(one, start, end));
}

/** Empty for a citation without an address. */
export function annotationOf(citation: DocumentNode, start: number, end: number): Json[] {
  const { url, title } = citation.json();
  if (typeof url !== 'string') return [];
  const named = { url, title: typeof title === 'string' ? title : '' };
  return [{ type: 'url_citation', url_citation: { ...named, start_index: start, end_index: end } }];
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
