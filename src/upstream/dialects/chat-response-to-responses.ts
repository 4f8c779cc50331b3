/** Knows how a chat completion is told as a response. */
import { type Json, DocumentNode } from './document-node.ts';
import type { ProviderFault, ResponseContext } from './translation.ts';

/** As it stands when nothing has been said yet. */
export function responseHead({ id, request: asked, createdAt }: ResponseContext): Json {
  const said = (name: string, usual: unknown = null): unknown => asked[name] ?? usual;
  const format = (asked.text as Json | undefined)?.format ?? { type: 'text' };
  return {
    id,
    object: 'response',
    created_at: Math.floor(createdAt / 1000),
    status: 'in_progress',
    background: said('background', false),
    error: null,
    incomplete_details: null,
    instructions: said('instructions'),
    max_output_tokens: said('max_output_tokens'),
    max_tool_calls: said('max_tool_calls'),
    model: asked.model,
    output: [],
    parallel_tool_calls: said('parallel_tool_calls', true),
    previous_response_id: said('previous_response_id'),
    reasoning: { effort: (asked.reasoning as Json | undefined)?.effort ?? null, summary: null },
    service_tier: said('service_tier', 'auto'),
    store: said('store', true),
    temperature: said('temperature', 1),
    text: { ...(asked.text as Json), format },
    tool_choice: said('tool_choice', 'auto'),
    tools: said('tools', []),
    top_logprobs: 0,
    top_p: said('top_p', 1),
    truncation: 'disabled',
    usage: null,
    user: said('user'),
    metadata: said('metadata', {}),
  };
}

/** @throws NotTranslatable */
export function responseFromChat(body: unknown, about: ResponseContext): Json {
  const answer = new DocumentNode(body);
  const [choice] = answer.at('choices').items();
  if (choice === undefined) answer.at('choices').refuse('must not be empty');
  const message = choice!.at('message');
  const output: Json[] = [];
  const content = partsOf(message);
  if (content.length > 0) output.push(messageItem(about, output.length, content));
  const calls = message.at('tool_calls');
  for (const call of calls.isAbsent ? [] : calls.items()) {
    const called = call.at('function');
    const said = { name: called.at('name').text(), arguments: argumentsOf(called.at('arguments')) };
    const id = call.at('id');
    const call_id = id.isAbsent ? callIdOf(about, output.length) : id.text();
    output.push(callItem(about, output.length, { call_id, ...said }));
  }
  const { usage } = answer.json();
  return endedResponse(about, { output, reason: choice!.at('finish_reason').value, usage });
}

/** Of a call that the provider has given none. */
export function callIdOf({ id }: ResponseContext, at: number): string {
  return `call_${id}_${at}`;
}

/** As a text; some models give an object in place of it. */
export function argumentsOf(place: DocumentNode): string {
  if (place.isAbsent) return '';
  return place.isText ? place.text() : JSON.stringify(place.json());
}

function partsOf(message: DocumentNode): Json[] {
  const [text, refusal] = [message.at('content'), message.at('refusal')];
  return [
    ...(text.isAbsent || text.value === '' ? [] : [textPart(text.text())]),
    ...(refusal.isAbsent ? [] : [refusalPart(refusal.text())]),
  ];
}

export function textPart(text: string): Json {
  return { type: 'output_text', annotations: [], logprobs: [], text };
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

export function callItem(
  about: ResponseContext,
  at: number,
  call: { readonly call_id: string; readonly name: string; readonly arguments: string },
  status = 'completed',
): Json {
  return { id: itemId('fc', about, at), type: 'function_call', status, ...call };
}

function itemId(prefix: string, { id }: ResponseContext, at: number): string {
  return `${prefix}_${id.slice(id.indexOf('_') + 1)}${at.toString(16).padStart(4, '0')}`;
}

/** What a chat ended with that was cut short. */
const cutShort = new Map<unknown, string>([
  ['length', 'max_output_tokens'],
  ['content_filter', 'content_filter'],
]);

interface ChatEnd {
  readonly output: readonly Json[];
  /** `finish_reason` of the chat. */
  readonly reason: unknown;
  /** As the chat says it; absent where it does not. */
  readonly usage: unknown;
}

export function endedResponse(about: ResponseContext, { output, reason, usage }: ChatEnd): Json {
  const cut = cutShort.get(reason);
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

function usageOf(said: unknown): Json | null {
  if (typeof said !== 'object' || said === null) return null;
  const usage = said as Json;
  const detail = (place: string, name: string): unknown =>
    (usage[place] as Json | undefined | null)?.[name] ?? 0;
  const input = Number(usage.prompt_tokens ?? 0);
  const output = Number(usage.completion_tokens ?? 0);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: detail('prompt_tokens_details', 'cached_tokens') },
    output_tokens: output,
    output_tokens_details: {
      reasoning_tokens: detail('completion_tokens_details', 'reasoning_tokens'),
    },
    total_tokens: usage.total_tokens ?? input + output,
  };
}

/** In the form in which OpenAI tells errors. */
export function responseError({ message, type }: ProviderFault): Json {
  return { error: { message, type: type ?? 'api_error', param: null, code: null } };
}
