/** Translates the response of a chat to that of Converse of Amazon Bedrock. */
import { awsErrorType } from '../../model/services/aws-errors.ts';
import { answeredArguments } from '../documents/call-arguments.ts';
import { DocumentNode, type Json } from '../documents/document-node.ts';
import {
  packDetails,
  type ReasoningDetail,
  reasoningText,
  textOfDetail,
} from '../translation/reasoning.ts';
import { detailsOfReply } from '../translation/thought-signatures.ts';
import type { ProviderFault } from '../translation/translation.ts';
import { isOwnReasoning } from './reasoning.ts';

/** @throws NotTranslatable */
export function converseResponse(body: unknown): Json {
  const completion = new DocumentNode(body);
  const [choice] = completion.at('choices').items();
  if (choice === undefined) return completion.at('choices').refuse('must not be empty');
  const message = choice.at('message');
  const { content, refusal } = message.json();
  const calls = message.at('tool_calls');
  const usage = completion.at('usage');
  const texts = [content, refusal].filter((one) => typeof one === 'string' && one !== '');
  return {
    output: {
      message: {
        role: 'assistant',
        content: [
          ...reasoningBlocks(message.json()),
          ...texts.map((text) => ({ text })),
          ...(calls.isAbsent ? [] : calls.items().map(toolUse)),
        ],
      },
    },
    stopReason: stopReasonOf(choice.at('finish_reason').value, texts.includes(refusal)),
    usage: converseUsageOf(usage.isAbsent ? {} : usage.json()),
    metrics: { latencyMs: 0 },
  };
}

function reasoningBlocks(message: Json): Json[] {
  const details = detailsOfReply(message);
  if (details.length > 0) return details.map(reasoningBlock);
  const text = reasoningText(message);
  return text === '' ? [] : [{ reasoningContent: { reasoningText: { text } } }];
}

/** Reasoning of other families is packed into the signature, which comes back unchanged. */
function reasoningBlock(detail: ReasoningDetail): Json {
  if (detail.type === 'reasoning.encrypted') {
    return { reasoningContent: { redactedContent: redactedOf(detail) } };
  }
  const text = textOfDetail(detail);
  const signature = signatureOf(detail);
  return {
    reasoningContent: {
      reasoningText: { text, ...(signature === undefined ? {} : { signature }) },
    },
  };
}

export function redactedOf(detail: ReasoningDetail): string | undefined {
  return isOwnReasoning(detail.format) ? detail.data : packDetails([detail]);
}

/** Undefined for reasoning that nobody signed. */
export function signatureOf(detail: ReasoningDetail): string | undefined {
  if (detail.signature === undefined) return undefined;
  return isOwnReasoning(detail.format) ? detail.signature : packDetails([detail]);
}

function toolUse(call: DocumentNode): Json {
  const called = call.at('function');
  const { name } = called.json();
  return {
    toolUse: {
      toolUseId: call.at('id').text(),
      name,
      input: answeredArguments(called.at('arguments')),
    },
  };
}

const stopReasons = new Map<unknown, string>([
  ['length', 'max_tokens'],
  ['tool_calls', 'tool_use'],
  ['function_call', 'tool_use'],
  ['content_filter', 'content_filtered'],
]);

/** A refusal of the model is a text of Converse that ends as filtered. */
export function stopReasonOf(reason: unknown, hasRefused: boolean): string {
  return stopReasons.get(reason) ?? (hasRefused ? 'content_filtered' : 'end_turn');
}

/** OpenAI includes cached tokens in the prompt tokens; Bedrock counts them separately. */
export function converseUsageOf(usage: Json): Json {
  const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
  const details = Object(usage.prompt_tokens_details) as Json;
  const cached = count(details.cached_tokens);
  const written = count(details.cache_write_tokens);
  const inputTokens = Math.max(0, count(usage.prompt_tokens) - cached - written);
  const outputTokens = count(usage.completion_tokens);
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens + cached + written,
    ...(cached > 0 ? { cacheReadInputTokens: cached } : {}),
    ...(written > 0 ? { cacheWriteInputTokens: written } : {}),
  };
}

export function converseError({ message, status }: ProviderFault): Json {
  return { __type: awsErrorType(status < 400 ? 500 : status), message };
}
