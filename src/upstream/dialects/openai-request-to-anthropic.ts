/** Knows how a request for a chat in the format of OpenAI is made in that of Anthropic. */

import { type Json, DocumentNode } from './document-node.ts';
import { conversationOf } from './openai-turns-to-anthropic.ts';

/** Anthropic has to be told how much a model may answer; every model of theirs can answer this much. */
const outputTokensUsual = 4096;
/** Beyond this, what OpenAI calls temperature has no like. */
const temperatureMax = 1;

/** @throws NotTranslatable where it says what Anthropic has no word for */
export function anthropicRequest(chat: Json): Json {
  const request = new DocumentNode(chat).only(...carriedWords, ...wordsWithoutEffect, ...usualOnly.keys());
  for (const [name, isUsual] of usualOnly) {
    const word = request.at(name);
    if (!word.isAbsent && !isUsual(word.value)) word.refuseUnsupported();
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

/** Read below. `top_k` and `thinking` are words of Anthropic that its users say in this format, too. */
const carriedWords = [
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

/** What they ask for is no other answer: hints to caches and to speed, and labels of what is not stored. */
const wordsWithoutEffect = ['metadata', 'prediction', 'prompt_cache_key', 'prompt_cache_retention'];

/** They may say what goes without saying. */
const usualOnly = new Map<string, (value: unknown) => boolean>([
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
  const said = names.filter((name) => !request.at(name).isAbsent);
  return Object.fromEntries(said.map((name) => [name, request.at(name).value]));
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
  const isOneAtATime = request.at('parallel_tool_calls').value === false;
  if (!isOneAtATime || choice?.type === 'none') {
    return { tools: list, ...(choice === null ? {} : { tool_choice: choice }) };
  }
  const single = { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true };
  return { tools: list, tool_choice: single };
}

function toolOf(tool: DocumentNode): Json {
  if (tool.at('type').value !== 'function') tool.at('type').refuseUnsupported();
  tool.only('type', 'function', 'cache_control');
  const made = tool.at('function').only('name', 'description', 'parameters', 'strict');
  const parameters = made.at('parameters');
  return {
    name: made.at('name').text(),
    ...copyMembers(made, 'description', 'strict'),
    input_schema: parameters.isAbsent ? { type: 'object', properties: {} } : parameters.json(),
    ...copyMembers(tool, 'cache_control'),
  };
}

/** Null where nothing is said. */
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

/** What form the answer is to have, and how much thought goes before it. */
function output(request: DocumentNode): Json {
  const format = request.at('response_format');
  const effort = request.at('reasoning_effort');
  const config: Record<string, unknown> = {};
  if (!format.isAbsent && format.at('type').value !== 'text') {
    // That an answer is JSON of any shape cannot be asked for.
    if (format.at('type').value !== 'json_schema') format.at('type').refuseUnsupported();
    const schema = format.only('type', 'json_schema').at('json_schema');
    // Neither its name nor that it is strict is a choice there.
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
