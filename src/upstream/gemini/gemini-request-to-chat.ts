/** Translates Gemini's `generateContent` to a chat request. */

import {
  canDisableReasoning,
  canReason,
  chatExtensionsOf,
} from '../../model/services/chat-extensions.ts';
import { DocumentNode, type Json } from '../documents/document-node.ts';
import { acceptedSampling } from '../translation/sampling.ts';
import type { RequestTerms } from '../translation/translation.ts';
import * as rules from './gemini-request-rules.ts';
import { chatMessages, dropHints } from './gemini-turns-to-chat.ts';
import { standardSchema } from './json-schemas.ts';
import { effortOf } from './thinking.ts';

/** Differences between the providers of chats. */
export interface ChatDifferences {
  readonly maxName: 'max_tokens' | 'max_completion_tokens';
  /** Whether `top_k` exists. */
  readonly takesTopK: boolean;
  /** Whether `temperature` excludes `top_p`. */
  readonly takesOneSampling: boolean;
}

/** @throws NotTranslatable when the request has a member without a counterpart in a chat */
export function chatFromGemini(
  sent: Json,
  terms: RequestTerms,
  differences: ChatDifferences,
): Json {
  const request = DocumentNode.ofRequest(sent, terms).follow(rules.requestShape.kinds['']);
  const extensions = chatExtensionsOf(terms.service, terms.isIntermediate === true);
  const isStream = sent.stream === true;
  const config = request.at('generationConfig');
  const chat = {
    model: request.at('model').text(),
    messages: chatMessages(request, extensions.reasoning),
    ...tooling(request),
    ...settings(config, differences),
    ...effort(config, sent.model, terms.isIntermediate === true),
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
  return acceptedSampling(chat, terms, (name) => {
    for (const [own, member] of copied) if (member === name) config.at(own).dropHint();
  });
}

/** Settings that differ only in their spelling. */
const copied = new Map([
  ['temperature', 'temperature'],
  ['topP', 'top_p'],
  ['seed', 'seed'],
  ['presencePenalty', 'presence_penalty'],
  ['frequencyPenalty', 'frequency_penalty'],
  ['candidateCount', 'n'],
  ['stopSequences', 'stop'],
  ['responseLogprobs', 'logprobs'],
  ['logprobs', 'top_logprobs'],
]);
function settings(
  config: DocumentNode,
  { maxName, takesTopK, takesOneSampling }: ChatDifferences,
): Json {
  if (config.isAbsent) return {};
  config.follow(rules.settingsShape.kinds['']);
  const chat: Record<string, unknown> = {};
  const most = config.at('maxOutputTokens');
  if (!most.isAbsent) chat[maxName] = most.value;
  for (const [name, member] of copied) {
    if (!config.at(name).isAbsent && !isUsual(name, config.at(name).value)) {
      chat[member] = config.at(name).value;
    }
  }
  if (takesOneSampling && chat.temperature !== undefined && chat.top_p !== undefined) {
    dropHints(config, ['topP']);
    delete chat.top_p;
  }
  if (!takesTopK) dropHints(config, ['topK']);
  else if (!config.at('topK').isAbsent) chat.top_k = config.at('topK').value;
  requireTextAlone(config.at('responseModalities'));
  return { ...chat, ...responseFormat(config) };
}

function effort(config: DocumentNode, model: unknown, isIntermediate: boolean): Json {
  if (config.isAbsent) return {};
  const thinking = config.at('thinkingConfig');
  const word = effortOf(thinking);
  if (word === null) return {};
  if (!isIntermediate) {
    if (word === 'none') return canDisableReasoning(model) ? { reasoning_effort: word } : {};
    if (!canReason(model)) {
      thinking.dropHint();
      return {};
    }
  }
  return { reasoning_effort: word };
}

/** Values that mean the same as none, which some providers refuse. */
function isUsual(name: string, value: unknown): boolean {
  if (name === 'candidateCount') return value === 1;
  if (name === 'stopSequences') return Array.isArray(value) && value.length === 0;
  return name === 'responseLogprobs' && value === false;
}

function requireTextAlone(modalities: DocumentNode): void {
  if (modalities.isAbsent) return;
  if (modalities.items().some((one) => String(one.value).toUpperCase() !== 'TEXT')) {
    modalities.dropMeaning();
  }
}

function responseFormat(config: DocumentNode): Json {
  const type = config.at('responseMimeType');
  const json = config.at('responseJsonSchema');
  const own = config.at('responseSchema');
  if (type.isAbsent || type.value === 'text/plain') {
    if (!json.isAbsent) json.refuse('needs the responseMimeType application/json');
    if (!own.isAbsent) own.refuse('needs the responseMimeType application/json');
    return {};
  }
  if (type.value !== 'application/json') {
    type.dropMeaning();
    return {};
  }
  const schema = json.isAbsent ? standardSchema(own.value) : json.value;
  if ((schema ?? null) === null) return { response_format: { type: 'json_object' } };
  return { response_format: { type: 'json_schema', json_schema: { name: 'response', schema } } };
}

function tooling(request: DocumentNode): Json {
  const tools = request.at('tools');
  const { choice, allowed } = choiceOf(request.at('toolConfig'));
  const places = tools.isAbsent ? [] : tools.items();
  const isOptional = choice !== 'required' && places.some(hasFunctions);
  const declared = places.flatMap((tool) => functionsOf(tool, isOptional));
  const list = allowed === null ? declared : declared.filter(({ name }) => allowed.includes(name));
  if (list.length === 0) return {};
  return {
    tools: list.map(({ tool }) => tool),
    ...(choice === null ? {} : { tool_choice: choice }),
  };
}

function hasFunctions(tool: DocumentNode): boolean {
  const list = tool.at('functionDeclarations');
  return !list.isAbsent && list.items().length > 0;
}

/** Tools that Google runs, which the model may do without beside functions of the caller. */
const optionalTools = rules.membersOf(rules.toolShape, 'optional');

function functionsOf(tool: DocumentNode, isOptional: boolean): DeclaredTool[] {
  if (isOptional) dropHints(tool, optionalTools);
  const known = isOptional ? ['functionDeclarations', ...optionalTools] : ['functionDeclarations'];
  const list = tool.only(...known).at('functionDeclarations');
  return list.isAbsent ? [] : list.items().map(toolOf);
}

interface DeclaredTool {
  readonly name: string;
  readonly tool: Json;
}

function toolOf(declaration: DocumentNode): DeclaredTool {
  declaration.follow(rules.declarationShape.kinds['']);
  const name = declaration.at('name').text();
  const { description, parameters, parametersJsonSchema } = declaration.json();
  const schema = parametersJsonSchema ?? standardSchema(parameters) ?? null;
  const definition = {
    name,
    ...((description ?? null) === null ? {} : { description }),
    ...(schema === null ? {} : { parameters: schema }),
  };
  return { name, tool: { type: 'function', function: definition } };
}

interface Choice {
  /** Null when the model decides. */
  readonly choice: string | null;
  /** Names of the functions that may be called; null for all. */
  readonly allowed: readonly string[] | null;
}

/** Functions that are not allowed are left out, which every provider understands. */
function choiceOf(config: DocumentNode): Choice {
  const none = { choice: null, allowed: null };
  if (config.isAbsent) return none;
  config.follow(rules.toolConfigShape.kinds['']);
  const calling = config.at('functionCallingConfig');
  if (calling.isAbsent) return none;
  calling.follow(rules.callingShape.kinds['']);
  const mode = calling.at('mode');
  const names = calling.at('allowedFunctionNames');
  const allowed =
    names.isAbsent || names.items().length === 0 ? null : names.items().map((name) => name.text());
  const word = mode.isAbsent ? 'AUTO' : mode.text().toUpperCase();
  const choice = choiceWords.get(word);
  return choice === undefined ? mode.refuseUnsupported() : { choice, allowed };
}

const choiceWords = new Map<string, string | null>([
  ['MODE_UNSPECIFIED', null],
  ['AUTO', null],
  ['VALIDATED', null],
  ['ANY', 'required'],
  ['NONE', 'none'],
]);
