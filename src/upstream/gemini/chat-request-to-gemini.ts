/** Translates a chat request to Gemini's `generateContent`. */

import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { RequestTerms } from '../translation/translation.ts';
import * as rules from './chat-to-gemini-rules.ts';
import { geminiContents } from './chat-turns-to-gemini.ts';
import { acceptedSchema } from './json-schemas.ts';
import { thinkingConfigOf } from './thinking.ts';

/** @throws NotTranslatable when the request has a member without a counterpart in Gemini's format */
export function geminiRequest(chat: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(chat, terms).follow(rules.requestShape.kinds['']);
  request.at('model').text();
  const options = request.at('stream_options');
  if (!options.isAbsent) options.follow(rules.streamShape.kinds['']);
  const { system, contents } = geminiContents(request.at('messages'), chat.model);
  const config = generationConfigOf(request);
  return {
    ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }),
    contents,
    ...tooling(request),
    ...(Object.keys(config).length === 0 ? {} : { generationConfig: config }),
  };
}

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
      const described = format.follow(rules.formatShape.kinds.json_schema).at('json_schema');
      const schema = described.follow(rules.schemaShape.kinds['']).at('schema');
      return {
        responseMimeType: 'application/json',
        responseJsonSchema: acceptedSchema(schema),
      };
    }
    default:
      format.dropKind(rules.formatShape);
      return {};
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
    tool.dropKind(rules.toolShape);
    return [];
  }
  tool.follow(rules.toolShape.kinds.function);
  const definition = tool.at('function').follow(rules.functionShape.kinds['']);
  const { description } = definition.json();
  const parameters = definition.at('parameters');
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
    if (mode !== undefined) return { mode };
    choice.dropMeaning();
    return null;
  }
  if (choice.at('type').value !== 'function') {
    choice.dropKind(rules.choiceShape);
    return null;
  }
  const { function: named } = rules.choiceShape.kinds;
  const name = choice.follow(named).at('function').only('name').at('name').text();
  return { mode: 'ANY', allowedFunctionNames: [name] };
}

const choiceModes = new Map([
  ['auto', 'AUTO'],
  ['none', 'NONE'],
  ['required', 'ANY'],
]);
