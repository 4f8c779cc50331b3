/** Translates a request from Anthropic's format to OpenAI's. */

import { outputLimitName } from '../../model/services/provider-addresses.ts';
import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { RequestTerms } from '../translation/translation.ts';
import { chatMessagesFromTurns } from './anthropic-turns-to-openai.ts';

/** @throws NotTranslatable when the request has a member without a counterpart in OpenAI's format */
export function openAiRequest(message: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(message, terms).only(
    ...translatedMembers,
    ...ignoredMembers,
  );
  request.at('model').text();
  const speed = request.at('speed');
  if (!speed.isAbsent && speed.value !== 'standard') speed.refuseUnsupported();
  const thinking = request.at('thinking');
  if (!thinking.isAbsent && thinking.at('type').value !== 'disabled') thinking.refuseUnsupported();
  const isStream = request.at('stream').value === true;
  return {
    model: message.model,
    messages: chatMessagesFromTurns(request.at('system'), request.at('messages')),
    ...copyMember(request, 'max_tokens', outputLimitName(terms.service)),
    ...copyMember(request, 'temperature'),
    ...copyMember(request, 'top_p'),
    ...copyMember(request, 'stop_sequences', 'stop'),
    ...copyMember(request, 'stream'),
    // Streams of Anthropic always report usage.
    ...(isStream ? { stream_options: { include_usage: true } } : {}),
    ...tooling(request),
    ...output(request),
    ...account(request),
  };
}

/** Members that are translated. */
const translatedMembers = [
  'model',
  'messages',
  'system',
  'max_tokens',
  'temperature',
  'top_p',
  'stop_sequences',
  'stream',
  'tools',
  'tool_choice',
  'output_config',
  'metadata',
  'service_tier',
  'thinking',
  'speed',
];

/** Ignored members: OpenAI decides what it caches, and a new thread is entirely in the request. */
const ignoredMembers = ['cache_control', 'thread'];

function copyMember(request: DocumentNode, name: string, targetName = name): Json {
  const word = request.at(name);
  return word.isAbsent ? {} : { [targetName]: word.value };
}

function tooling(request: DocumentNode): Json {
  const tools = request.at('tools');
  if (tools.isAbsent) return {};
  const list = tools.items().map(toolOf);
  if (list.length === 0) return {};
  const choice = request.at('tool_choice');
  if (choice.isAbsent) return { tools: list };
  choice.only('type', 'name', 'disable_parallel_tool_use');
  const isSequential = choice.at('disable_parallel_tool_use').value === true;
  return {
    tools: list,
    tool_choice: choiceOf(choice),
    ...(isSequential ? { parallel_tool_calls: false } : {}),
  };
}

/** Tools that Anthropic runs or defines have no counterpart. */
function toolOf(tool: DocumentNode): Json {
  const type = tool.at('type');
  if (!type.isAbsent && type.value !== 'custom') type.refuseUnsupported();
  tool.only(
    'type',
    'name',
    'description',
    'input_schema',
    'strict',
    'cache_control',
    'eager_input_streaming',
  );
  return {
    type: 'function',
    function: {
      name: tool.at('name').text(),
      ...copyMember(tool, 'description'),
      parameters: tool.at('input_schema').json(),
      ...copyMember(tool, 'strict'),
    },
  };
}

function choiceOf(choice: DocumentNode): unknown {
  const type = choice.at('type');
  switch (type.text()) {
    case 'auto':
    case 'none':
      return type.value;
    case 'any':
      return 'required';
    case 'tool':
      return { type: 'function', function: { name: choice.at('name').text() } };
    default:
      return type.refuseUnsupported();
  }
}

function output(request: DocumentNode): Json {
  const config = request.at('output_config');
  if (config.isAbsent) return {};
  config.only('format', 'effort');
  const format = config.at('format');
  return { ...copyMember(config, 'effort', 'reasoning_effort'), ...responseFormatOf(format) };
}

function responseFormatOf(format: DocumentNode): Json {
  if (format.isAbsent) return {};
  if (format.only('type', 'schema').at('type').value !== 'json_schema') {
    format.at('type').refuseUnsupported();
  }
  const schema = { name: 'answer', schema: format.at('schema').json(), strict: true };
  return { response_format: { type: 'json_schema', json_schema: schema } };
}

function account(request: DocumentNode): Json {
  const metadata = request.at('metadata');
  const tier = request.at('service_tier');
  const isStandard = tier.value === 'standard_only';
  // Without a tier, both providers choose one.
  if (!tier.isAbsent && !isStandard && tier.value !== 'auto') tier.refuseUnsupported();
  return {
    ...(metadata.isAbsent ? {} : copyMember(metadata.only('user_id'), 'user_id', 'user')),
    ...(isStandard ? { service_tier: 'default' } : {}),
  };
}
