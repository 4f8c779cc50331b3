/** Translates a response of Converse of Amazon Bedrock to OpenAI's chat. */
import { randomUUID } from 'node:crypto';
import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { ProviderFault, TranslationContext } from '../translation/translation.ts';
import { reasoningFormat } from './reasoning.ts';

/** @throws NotTranslatable */
export function chatOfConverse(body: unknown, { now, model = '' }: TranslationContext): Json {
  const response = new DocumentNode(body);
  const { content, calls, reasoning, details } = partsOf(response.at('output').at('message'));
  const message = {
    role: 'assistant',
    content: content.length === 0 ? null : content.join(''),
    refusal: null,
    ...(reasoning.length === 0 ? {} : { reasoning_content: reasoning.join('') }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const { stopReason, trace, additionalModelResponseFields: more } = response.json();
  const choice = { index: 0, message, logprobs: null, finish_reason: converseFinish(stopReason) };
  return {
    id: newChatId(),
    object: 'chat.completion',
    created: Math.floor(now / 1000),
    model,
    choices: [choice],
    usage: converseUsage(response.at('usage').json()),
    ...(trace === undefined ? {} : { trace }),
    ...((more ?? null) === null ? {} : { additionalModelResponseFields: more }),
  };
}

export function newChatId(): string {
  return `chatcmpl-${randomUUID()}`;
}

function partsOf(message: DocumentNode) {
  const content: string[] = [];
  const calls: Json[] = [];
  const reasoning: string[] = [];
  const details: Json[] = [];
  for (const [index, block] of message.at('content').items().entries()) {
    const { text, toolUse, reasoningContent, citationsContent } = block.json();
    if (text !== undefined) content.push(block.at('text').text());
    if (citationsContent !== undefined) content.push(...citedTexts(block.at('citationsContent')));
    if (toolUse !== undefined) calls.push(callOf(block.at('toolUse')));
    if (reasoningContent === undefined) continue;
    const thought = block.at('reasoningContent');
    if (!thought.at('reasoningText').isAbsent) {
      const { text: words, signature } = thought.at('reasoningText').json();
      reasoning.push(String(words ?? ''));
      details.push(reasoningDetail(index, { text: words, ...(signature ? { signature } : {}) }));
    } else if (!thought.at('redactedContent').isAbsent) {
      details.push(reasoningDetail(index, { data: thought.at('redactedContent').value }));
    }
  }
  return { content, calls, reasoning, details };
}

/** Texts with citations, which a chat has for pages of the web only. */
function citedTexts(cited: DocumentNode): string[] {
  const list = cited.at('content');
  return list.isAbsent ? [] : list.items().map((one) => String(one.json().text ?? ''));
}

/** A part of reasoning that comes back unchanged; with `data` it is encrypted. */
export function reasoningDetail(index: number, members: Json): Json {
  const type = members.data === undefined ? 'reasoning.text' : 'reasoning.encrypted';
  return { type, ...members, format: reasoningFormat, index };
}

function callOf(call: DocumentNode): Json {
  const { input } = call.json();
  return {
    id: call.at('toolUseId').text(),
    type: 'function',
    function: { name: call.at('name').text(), arguments: JSON.stringify(input ?? {}) },
  };
}

/** Maps a stop reason to a finish reason. */
export function converseFinish(reason: unknown): string {
  return (typeof reason === 'string' ? finishReasons.get(reason) : undefined) ?? 'stop';
}

const finishReasons = new Map([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['guardrail_intervened', 'content_filter'],
  ['content_filtered', 'content_filter'],
]);

/** Bedrock counts cached tokens separately; OpenAI includes them in the prompt tokens. */
export function converseUsage(usage: Json): Json {
  const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
  const cached = count(usage.cacheReadInputTokens);
  const written = count(usage.cacheWriteInputTokens);
  const input = count(usage.inputTokens) + cached + written;
  const output = count(usage.outputTokens);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  };
}

export function chatError({ message, type }: ProviderFault): Json {
  return { error: { message, type: type ?? 'api_error', param: null, code: null } };
}
