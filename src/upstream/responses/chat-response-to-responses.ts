/** Translates a chat completion to a response. */
import { DocumentNode, type Json } from '../documents/document-node.ts';
import { parseExactly } from '../documents/exact-json.ts';
import { customToolInput } from '../translation/custom-tools.ts';
import {
  packDetails,
  type ReasoningDetail,
  reasoningText,
  textOfDetail,
} from '../translation/reasoning.ts';
import { detailsOfReply } from '../translation/thought-signatures.ts';
import type { ProviderFault, ResponseContext } from '../translation/translation.ts';
import { type CalledTool, type CalledTools, calledToolsOf } from './tool-names.ts';

/** Longest text that the response to a large request repeats, in UTF-16 units. */
const briefCharsMax = 1_000;

function isBriefValue(value: unknown): boolean {
  return typeof value === 'string' ? value.length <= briefCharsMax : typeof value !== 'object';
}

/** The request, or those of its members that a response can repeat in every event without much work. */
function repeatedRequest({ request, isBrief = false }: ResponseContext): Json {
  if (!isBrief) return request;
  return Object.fromEntries(Object.entries(request).filter(([, value]) => isBriefValue(value)));
}

/** Builds the response before it has any output. */
export function responseHead(about: ResponseContext): Json {
  const { id, createdAt, conversationId } = about;
  const request = repeatedRequest(about);
  const setting = (name: string, usual: unknown = null): unknown => request[name] ?? usual;
  const format = (request.text as Json | undefined)?.format ?? { type: 'text' };
  return {
    id,
    object: 'response',
    created_at: Math.floor(createdAt / 1000),
    status: 'in_progress',
    background: setting('background', false),
    conversation: conversationId === null ? null : { id: conversationId },
    error: null,
    incomplete_details: null,
    instructions: setting('instructions'),
    max_output_tokens: setting('max_output_tokens'),
    max_tool_calls: setting('max_tool_calls'),
    model: request.model,
    output: [],
    parallel_tool_calls: setting('parallel_tool_calls', true),
    previous_response_id: setting('previous_response_id'),
    reasoning: { effort: (request.reasoning as Json | undefined)?.effort ?? null, summary: null },
    service_tier: setting('service_tier', 'auto'),
    store: setting('store', true),
    temperature: setting('temperature', 1),
    text: { ...(request.text as Json), format },
    tool_choice: setting('tool_choice', 'auto'),
    tools: setting('tools', []),
    top_logprobs: 0,
    top_p: setting('top_p', 1),
    truncation: 'disabled',
    usage: null,
    user: setting('user'),
    metadata: setting('metadata', {}),
  };
}

/** @throws NotTranslatable */
export function responseFromChat(body: unknown, about: ResponseContext): Json {
  const answer = new DocumentNode(body);
  const [choice] = answer.at('choices').items();
  if (choice === undefined) answer.at('choices').refuse('must not be empty');
  const message = choice!.at('message');
  const output: Json[] = [];
  const details = detailsOfReply(message.json());
  const thought = reasoningText(message.json()) || details.map(textOfDetail).join('');
  if (thought !== '' || details.length > 0) {
    output.push(reasoningItem(about, output.length, { text: thought, details }));
  }
  const content = partsOf(message);
  if (content.length > 0) output.push(messageItem(about, output.length, content));
  const calls = message.at('tool_calls');
  const tools = calledToolsOf(about.request);
  for (const call of calls.isAbsent ? [] : calls.items()) {
    const called = call.at('function');
    const details = {
      name: called.at('name').text(),
      arguments: argumentsText(called.at('arguments')),
    };
    const id = call.at('id');
    const call_id = id.isAbsent ? callIdOf(about, output.length) : id.text();
    output.push(callItem(about, output.length, { call_id, ...details }, tools));
  }
  const { usage } = answer.json();
  return endedResponse(about, { output, reason: choice!.at('finish_reason').value, usage });
}

/** Id of a call for which the provider sent none. */
export function callIdOf({ id }: ResponseContext, at: number): string {
  return `call_${id}_${at}`;
}

/** Returns the arguments as text; some models send an object. */
export function argumentsText(node: DocumentNode): string {
  if (node.isAbsent) return '';
  return node.isText ? node.text() : JSON.stringify(node.json());
}

function partsOf(message: DocumentNode): Json[] {
  const [text, refusal] = [message.at('content'), message.at('refusal')];
  return [
    ...(text.isAbsent || text.value === ''
      ? []
      : [textPart(text.text(), annotationsOf(message.at('annotations')))]),
    ...(refusal.isAbsent ? [] : [refusalPart(refusal.text())]),
  ];
}

export function textPart(text: string, annotations: readonly Json[] = []): Json {
  return { type: 'output_text', annotations, logprobs: [], text };
}

/** Annotations of a chat with an address, which responses name without a level between. */
export function annotationsOf(list: DocumentNode): Json[] {
  if (list.isAbsent) return [];
  return list.items().flatMap((one) => {
    const { type, url_citation: cited } = one.json();
    return type === 'url_citation' ? [{ type, ...(cited as Json) }] : [];
  });
}

export function refusalPart(refusal: string): Json {
  return { type: 'refusal', refusal };
}

export function messageItem(
  about: ResponseContext,
  at: number,
  content: readonly Json[],
  status = 'completed',
): Json {
  return { id: itemId('msg', about, at), type: 'message', status, role: 'assistant', content };
}

/** A call of a function of a chat. */
interface FunctionCall {
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

/** Builds the item of the tool that the function stands in for. */
export function callItem(
  about: ResponseContext,
  at: number,
  call: FunctionCall,
  tools: CalledTools,
  status = 'completed',
): Json {
  const { call_id, arguments: text } = call;
  const tool = tools.get(call.name);
  if (tool === undefined) {
    return { id: itemId('fc', about, at), type: 'function_call', status, ...call };
  }
  const { kind, name } = tool;
  const named = { call_id, name, ...namespaceOf(tool) };
  switch (kind) {
    case 'function':
      return {
        id: itemId('fc', about, at),
        type: 'function_call',
        status,
        ...named,
        arguments: text,
      };
    case 'custom': {
      const input = customToolInput(text);
      return { id: itemId('ctc', about, at), type: 'custom_tool_call', status, ...named, input };
    }
    case 'tool_search': {
      const searched = { call_id, execution: 'client', arguments: parsedArguments(text) };
      return { id: itemId('tsc', about, at), type: 'tool_search_call', status, ...searched };
    }
  }
}

function namespaceOf({ namespace }: CalledTool): Json {
  return namespace === null ? {} : { namespace };
}

/** The text itself where it is no JSON. */
function parsedArguments(text: string): unknown {
  try {
    return parseExactly(text === '' ? '{}' : text);
  } catch {
    return text;
  }
}

/** The reasoning of a response. */
interface Reasoning {
  readonly text: string;
  readonly details: readonly ReasoningDetail[];
}

/** Builds the item; `encrypted_content` has what must return to the provider unchanged. */
export function reasoningItem(
  about: ResponseContext,
  at: number,
  { text, details }: Reasoning,
  status = 'completed',
): Json {
  return {
    id: itemId('rs', about, at),
    type: 'reasoning',
    status,
    summary: text === '' ? [] : [summaryPart(text)],
    ...(details.length === 0 ? {} : { encrypted_content: packDetails(details) }),
  };
}

export function summaryPart(text: string): Json {
  return { type: 'summary_text', text };
}

function itemId(prefix: string, { id }: ResponseContext, at: number): string {
  return `${prefix}_${id.slice(id.indexOf('_') + 1)}${at.toString(16).padStart(4, '0')}`;
}

/** Finish reasons of incomplete chats. */
const incompleteReasons = new Map<unknown, string>([
  ['length', 'max_output_tokens'],
  ['content_filter', 'content_filter'],
]);

interface ChatEnd {
  readonly output: readonly Json[];
  /** `finish_reason` of the chat. */
  readonly reason: unknown;
  /** Usage of the chat; absent when not reported. */
  readonly usage: unknown;
}

export function endedResponse(about: ResponseContext, { output, reason, usage }: ChatEnd): Json {
  const cut = incompleteReasons.get(reason);
  const status = cut === undefined ? 'completed' : 'incomplete';
  return {
    ...responseHead(about),
    status,
    output,
    usage: usageOf(usage),
    incomplete_details: cut === undefined ? null : { reason: cut },
    ...(cut === undefined ? { completed_at: Math.floor(about.createdAt / 1000) } : {}),
  };
}

export function failedResponse(about: ResponseContext, output: readonly Json[], message: string) {
  const error = { code: 'server_error', message };
  return { ...responseHead(about), status: 'failed', output, error };
}

function usageOf(value: unknown): Json | null {
  if (typeof value !== 'object' || value === null) return null;
  const usage = value as Json;
  const detail = (place: string, name: string): unknown =>
    (usage[place] as Json | undefined | null)?.[name] ?? 0;
  const input = Number(usage.prompt_tokens ?? 0);
  const output = Number(usage.completion_tokens ?? 0);
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: detail('prompt_tokens_details', 'cached_tokens'),
      cache_write_tokens: detail('prompt_tokens_details', 'cache_write_tokens'),
    },
    output_tokens: output,
    output_tokens_details: {
      reasoning_tokens: detail('completion_tokens_details', 'reasoning_tokens'),
    },
    total_tokens: usage.total_tokens ?? input + output,
  };
}

/** Builds an error in OpenAI's format. */
export function responseError({ message, type }: ProviderFault): Json {
  return { error: { message, type: type ?? 'api_error', param: null, code: null } };
}
