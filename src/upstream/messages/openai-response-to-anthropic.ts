/** Translates a response from OpenAI's format to Anthropic's. */

import { requestedArguments } from '../documents/call-arguments.ts';
import { DocumentNode, type Json } from '../documents/document-node.ts';
import {
  anthropicReasoning,
  packDetails,
  type ReasoningDetail,
  reasoningText,
  textOfDetail,
  unsigned,
} from '../translation/reasoning.ts';
import { detailsOfReply } from '../translation/thought-signatures.ts';
import type { ProviderFault } from '../translation/translation.ts';
import { countOf } from './anthropic-response-to-openai.ts';

/** @throws NotTranslatable */
export function anthropicResponse(body: unknown): Json {
  const completion = new DocumentNode(body);
  const [choice] = completion.at('choices').items();
  if (choice === undefined) return completion.at('choices').refuse('must not be empty');
  const reply = choice.at('message');
  const content: Json[] = thinkingBlocks(reply.json());
  for (const name of ['content', 'refusal']) {
    const text = reply.at(name);
    if (!text.isAbsent && text.text() !== '') content.push(textBlock(text.text()));
  }
  const calls = reply.at('tool_calls');
  const id = completion.at('id').text();
  if (!calls.isAbsent) {
    content.push(...calls.items().map((call, at) => toolUse(call, `${id}_${at}`)));
  }
  const hasCalls = content.some(({ type }) => type === 'tool_use');
  const hasRefused = !reply.at('refusal').isAbsent;
  const usage = completion.at('usage');
  return {
    ...messageHead(id, completion.at('model').text()),
    content,
    ...stopOf(choice.at('finish_reason').value, hasCalls, hasRefused),
    usage: anthropicUsage(usage.isAbsent ? {} : usage.json()),
  };
}

/** Reasoning of a chat message as blocks that return unchanged to the provider that issued it. */
function thinkingBlocks(message: Json): Json[] {
  const details = detailsOfReply(message);
  const text = reasoningText(message) || details.map(textOfDetail).join('');
  if (details.length === 0) return text === '' ? [] : [thinkingBlock(text, unsigned)];
  if (details.every(({ format }) => format === anthropicReasoning)) {
    return details.map((one) => anthropicBlock(one));
  }
  const packed = packDetails(details);
  return [text === '' ? { type: 'redacted_thinking', data: packed } : thinkingBlock(text, packed)];
}

function anthropicBlock({ type, text, signature, data }: ReasoningDetail): Json {
  if (type === 'reasoning.encrypted') return { type: 'redacted_thinking', data };
  return thinkingBlock(text ?? '', signature ?? unsigned);
}

export function thinkingBlock(thinking: string, signature: string): Json {
  return { type: 'thinking', thinking, signature };
}

/** Members that every message of Anthropic has. */
export function messageHead(id: string, model: string): Json {
  return { id, type: 'message', role: 'assistant', model, container: null };
}

/** Without `citations`, because not every client accepts null. */
export function textBlock(text: string): Json {
  return { type: 'text', text };
}

export function toolUseBlock(id: string, name: string, input: Json): Json {
  return { type: 'tool_use', id, name, input };
}

/** Some compatible services send no id, or the arguments as an object, or none. */
function toolUse(call: DocumentNode, ownId: string): Json {
  const called = call.at('function');
  const id = call.at('id');
  const given = called.at('arguments');
  const input = given.isText ? requestedArguments(given) : given.isAbsent ? {} : given.json();
  return toolUseBlock(id.isAbsent ? ownId : id.text(), called.at('name').text(), input);
}

/** Determines the stop reason. Some compatible services report tool calls with another finish reason. */
export function stopOf(reason: unknown, hasCalls: boolean, hasRefused: boolean): Json {
  const mapped = typeof reason === 'string' ? stopReasons.get(reason) : undefined;
  const ended = hasCalls ? 'tool_use' : hasRefused ? 'refusal' : 'end_turn';
  return { stop_reason: mapped ?? ended, stop_sequence: null, stop_details: null };
}

const stopReasons = new Map([
  ['length', 'max_tokens'],
  ['content_filter', 'refusal'],
]);

/** OpenAI includes cached tokens in the prompt tokens; Anthropic counts them separately. */
export function anthropicUsage(usage: Json): Json {
  const details = (usage.prompt_tokens_details ?? {}) as Json;
  const { reasoning_tokens: reasoningTokens } = (usage.completion_tokens_details ?? {}) as Json;
  const cached = countOf(details.cached_tokens);
  const written = countOf(details.cache_write_tokens);
  return {
    input_tokens: Math.max(0, countOf(usage.prompt_tokens) - cached - written),
    output_tokens: outputOf(usage),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    ...(typeof reasoningTokens === 'number'
      ? { output_tokens_details: { thinking_tokens: reasoningTokens } }
      : {}),
  };
}

/** Some services count reasoning in the total only. */
function outputOf(usage: Json): number {
  const beside = countOf(usage.total_tokens) - countOf(usage.prompt_tokens);
  return Math.max(countOf(usage.completion_tokens), beside);
}

/** Anthropic SDKs distinguish errors by type. */
export function anthropicError({ message, status }: ProviderFault): Json {
  const type = errorTypes.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  return { type: 'error', error: { type, message } };
}

const errorTypes = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);
