/** Translates a chat request to Gemini's `generateContent`. */

import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { RequestTerms } from '../translation/translation.ts';
import { geminiContents } from './chat-turns-to-gemini.ts';
import { acceptedSchema } from './json-schemas.ts';
import { thinkingConfigOf } from './thinking.ts';

/** @throws NotTranslatable when the request has a member without a counterpart in Gemini's format */
export function geminiRequest(chat: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(chat, terms).only(
    ...translatedMembers,
    ...hintMembers,
    ...defaultOnly.keys(),
  );
  for (const [name, isDefault] of defaultOnly) {
    const member = request.at(name);
    if (!member.isAbsent && !isDefault(member.value)) member.dropMeaning();
  }
  for (const name of hintMembers) {
    if (!request.at(name).isAbsent) request.at(name).dropHint();
  }
  request.at('model').text();
  const options = request.at('stream_options');
  if (!options.isAbsent) options.only('include_usage', 'include_obfuscation');
  const { system, contents } = geminiContents(request.at('messages'), chat.model);
  const config = generationConfigOf(request);
  return {
    ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }),
    contents,
    ...tooling(request),
    ...(Object.keys(config).length === 0 ? {} : { generationConfig: config }),
  };
}

const translatedMembers = [
  'model',
  'messages',
  'max_completion_tokens',
  'max_tokens',
  'stream',
  'stream_options',
  'temperature',
  'top_p',
  'top_k',
  'stop',
  'n',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'logprobs',
  'top_logprobs',
  'tools',
  'tool_choice',
  'response_format',
  'reasoning_effort',
  'thinking',
];

/** Members that are left out, because they do not change what the model is asked for. */
const hintMembers = [
  'metadata',
  'parallel_tool_calls',
  'prediction',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'user',
  'verbosity',
];

/** Members that may only have their default value. */
const defaultOnly = new Map<string, (value: unknown) => boolean>([
  ['store', (value) => value === false],
  ['logit_bias', (value) => Object.keys(value as object).length === 0],
  ['modalities', (value) => Array.isArray(value) && value.every((one) => one === 'text')],
]);

/** Names of members that differ only in their spelling. */
const copied = new Map([
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['top_k', 'topK'],
  ['n', 'candidateCount'],
  ['seed', 'seed'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['presence_penalty', 'presencePenalty'],
  ['logprobs', 'responseLogprobs'],
  ['top_logprobs', 'logprobs'],
]);

function generationConfigOf(request: DocumentNode): Json {
  const config: Record<string, unknown> = {};
  const { max_completion_tokens: newer, max_tokens: older } = request.json();
  const most = newer ?? older ?? null;
  if (most !== null) config.maxOutputTokens = most;
  for (const [name, gemini] of copied) {
    const member = request.at(name);
    if (!member.isAbsent) config[gemini] = member.value;
  }
  const stop = request.at('stop');
  if (!stop.isAbsent) config.stopSequences = stop.isText ? [stop.text()] : stop.value;
  Object.assign(config, responseFormatOf(request.at('response_format')));
  const thinking = thinkingConfigOf(request);
  if (thinking !== null) config.thinkingConfig = thinking;
  return config;
}

function responseFormatOf(format: DocumentNode): Json {
  if (format.isAbsent) return {};
  const type = format.at('type');
  switch (type.value) {
    case 'text':
      return {};
    case 'json_object':
      return { responseMimeType: 'application/json' };
    case 'json_schema': {
      // Name and strictness cannot be chosen at Google.
      const described = format.only('type', 'json_schema').at('json_schema');
      const schema = described.only('name', 'description', 'schema', 'strict').at('schema');
      return {
        responseMimeType: 'application/json',
        responseJsonSchema: acceptedSchema(schema),
      };
    }
    default:
      return type.refuseUnsupported();
  }
}

function tooling(request: DocumentNode): Json {
  const tools = request.at('tools');
  if (tools.isAbsent) return {};
  const functionDeclarations = tools.items().flatMap(declarationsOf);
  if (functionDeclarations.length === 0) return {};
  const choice = choiceOf(request.at('tool_choice'));
  return {
    tools: [{ functionDeclarations }],
    ...(choice === null ? {} : { toolConfig: { functionCallingConfig: choice } }),
  };
}

/** Empty for a tool that is left out. */
function declarationsOf(tool: DocumentNode): Json[] {
  if (tool.at('type').value !== 'function') {
    tool.dropMeaning();
    return [];
  }
  tool.only('type', 'function', 'cache_control');
  if (!tool.at('cache_control').isAbsent) tool.at('cache_control').dropHint();
  const definition = tool.at('function').only('name', 'description', 'parameters', 'strict');
  const { description } = definition.json();
  const parameters = definition.at('parameters');
  if (definition.at('strict').value === true) definition.at('strict').dropHint();
  const declaration = {
    name: definition.at('name').text(),
    ...((description ?? null) === null ? {} : { description }),
    ...(parameters.isAbsent ? {} : { parametersJsonSchema: acceptedSchema(parameters) }),
  };
  return [declaration];
}

/** Null when absent. */
function choiceOf(choice: DocumentNode): Json | null {
  if (choice.isAbsent) return null;
  if (choice.isText) {
    const mode = choiceModes.get(choice.text());
    return mode === undefined ? choice.refuseUnsupported() : { mode };
  }
  if (choice.at('type').value !== 'function') choice.at('type').refuseUnsupported();
  const name = choice.only('type', 'function').at('function').only('name').at('name').text();
  return { mode: 'ANY', allowedFunctionNames: [name] };
}

const choiceModes = new Map([
  ['auto', 'AUTO'],
  ['none', 'NONE'],
  ['required', 'ANY'],
]);
