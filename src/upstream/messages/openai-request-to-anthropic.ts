/** Translates a chat request from OpenAI's format to Anthropic's. */

import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { RequestTerms } from '../translation/translation.ts';
import { conversationOf } from './openai-turns-to-anthropic.ts';

/** Anthropic requires an output limit; all of its models support this one. */
const outputTokensUsual = 4096;
/** Largest temperature that Anthropic accepts. */
const temperatureMax = 1;

/** @throws NotTranslatable when the request has a member without a counterpart in Anthropic's format */
export function anthropicRequest(chat: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(chat, terms).only(
    ...translatedMembers,
    ...hints,
    ...defaultOnly.keys(),
  );
  for (const name of hints) {
    const hint = request.at(name);
    if (!hint.isAbsent) hint.dropHint();
  }
  for (const [name, isDefault] of defaultOnly) {
    const word = request.at(name);
    if (!word.isAbsent && !isDefault(word.value)) word.dropMeaning();
  }
  request.at('model').text();
  const options = request.at('stream_options');
  if (!options.isAbsent) options.only('include_usage', 'include_obfuscation');
  const { system, messages } = conversationOf(request.at('messages'));
  return {
    model: chat.model,
    max_tokens: chat.max_completion_tokens ?? chat.max_tokens ?? outputTokensUsual,
    ...(system.length === 0 ? {} : { system }),
    messages,
    ...sampling(request),
    ...tooling(request),
    ...output(request),
    ...account(request),
    ...copyMembers(request, 'stream', 'top_k', 'thinking'),
  };
}

/** Members that are translated. `top_k` and `thinking` are extensions that users of Anthropic send in this format. */
const translatedMembers = [
  'model',
  'messages',
  'max_completion_tokens',
  'max_tokens',
  'stream',
  'stream_options',
  'temperature',
  'top_p',
  'stop',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'reasoning_effort',
  'user',
  'safety_identifier',
  'service_tier',
  'top_k',
  'thinking',
];

/** Hints for caches and speed, and labels. */
const hints = ['metadata', 'prediction', 'prompt_cache_key', 'prompt_cache_retention'];

/** Members that may only have their default value. */
const defaultOnly = new Map<string, (value: unknown) => boolean>([
  ['n', (value) => value === 1],
  ['store', (value) => value === false],
  ['logprobs', (value) => value === false],
  ['frequency_penalty', (value) => value === 0],
  ['presence_penalty', (value) => value === 0],
  ['logit_bias', (value) => Object.keys(value as object).length === 0],
  ['modalities', (value) => Array.isArray(value) && value.every((one) => one === 'text')],
  ['verbosity', (value) => value === 'medium'],
]);

function copyMembers(request: DocumentNode, ...names: readonly string[]): Json {
  const present = names.filter((name) => !request.at(name).isAbsent);
  return Object.fromEntries(present.map((name) => [name, request.at(name).value]));
}

function sampling(request: DocumentNode): Json {
  const temperature = request.at('temperature');
  if (!temperature.isAbsent && temperature.number() > temperatureMax) {
    temperature.refuse(`must be at most ${temperatureMax} for a provider of this format`);
  }
  const stop = request.at('stop');
  return {
    ...copyMembers(request, 'temperature', 'top_p'),
    ...(stop.isAbsent ? {} : { stop_sequences: stop.isText ? [stop.text()] : stop.value }),
  };
}

function tooling(request: DocumentNode): Json {
  const tools = request.at('tools');
  if (tools.isAbsent) return {};
  const list = tools.items().map(toolOf);
  if (list.length === 0) return {};
  const choice = choiceOf(request.at('tool_choice'));
  const isSequential = request.at('parallel_tool_calls').value === false;
  if (!isSequential || choice?.type === 'none') {
    return { tools: list, ...(choice === null ? {} : { tool_choice: choice }) };
  }
  const single = { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true };
  return { tools: list, tool_choice: single };
}

function toolOf(tool: DocumentNode): Json {
  if (tool.at('type').value !== 'function') tool.at('type').refuseUnsupported();
  tool.only('type', 'function', 'cache_control');
  const definition = tool.at('function').only('name', 'description', 'parameters', 'strict');
  const parameters = definition.at('parameters');
  return {
    name: definition.at('name').text(),
    ...copyMembers(definition, 'description', 'strict'),
    input_schema: parameters.isAbsent ? { type: 'object', properties: {} } : parameters.json(),
    ...copyMembers(tool, 'cache_control'),
  };
}

/** Null when absent. */
function choiceOf(choice: DocumentNode): Json | null {
  if (choice.isAbsent) return null;
  if (choice.isText) {
    const type = choiceWords.get(choice.text());
    return type === undefined ? choice.refuseUnsupported() : { type };
  }
  if (choice.at('type').value !== 'function') choice.at('type').refuseUnsupported();
  const name = choice.only('type', 'function').at('function').only('name').at('name').text();
  return { type: 'tool', name };
}

const choiceWords = new Map([
  ['auto', 'auto'],
  ['none', 'none'],
  ['required', 'any'],
]);

/** Translates the response format and the reasoning effort. */
function output(request: DocumentNode): Json {
  const format = request.at('response_format');
  const effort = request.at('reasoning_effort');
  const config: Record<string, unknown> = {};
  if (!format.isAbsent && format.at('type').value !== 'text') {
    // Anthropic cannot be asked for JSON without a schema.
    if (format.at('type').value !== 'json_schema') format.at('type').refuseUnsupported();
    const schema = format.only('type', 'json_schema').at('json_schema');
    // Name and strictness cannot be chosen at Anthropic.
    schema.only('name', 'description', 'schema', 'strict');
    config.format = { type: 'json_schema', schema: schema.at('schema').json() };
  }
  if (effort.value === 'minimal') effort.refuseUnsupported();
  const isReasoningOff = effort.value === 'none';
  if (!effort.isAbsent && !isReasoningOff) config.effort = effort.text();
  return {
    ...(Object.keys(config).length === 0 ? {} : { output_config: config }),
    ...(isReasoningOff ? { thinking: { type: 'disabled' } } : {}),
  };
}

function account(request: DocumentNode): Json {
  const user = [request.at('safety_identifier'), request.at('user')].find((one) => !one.isAbsent);
  const tier = request.at('service_tier');
  if (!tier.isAbsent && !serviceTiers.has(tier.text())) tier.refuseUnsupported();
  return {
    ...(user === undefined ? {} : { metadata: { user_id: user.text() } }),
    ...(tier.isAbsent ? {} : { service_tier: serviceTiers.get(tier.text()) }),
  };
}

const serviceTiers = new Map([
  ['auto', 'auto'],
  ['default', 'standard_only'],
]);
