/** Translates a chat request from OpenAI's format to Anthropic's. */

import { copyMembers } from '../documents/copy-members.ts';
import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { MemberRules } from '../documents/member-rules.ts';
import { customToolDescription, customToolParameters } from '../translation/custom-tools.ts';
import { anthropicThinking } from '../translation/reasoning-effort.ts';
import type { RequestTerms } from '../translation/translation.ts';
import { closedSchema } from './answer-schema.ts';
import * as rules from './chat-rules.ts';
import { type Conversation, conversationOf } from './openai-turns-to-anthropic.ts';

/** Anthropic requires an output limit; all of its models support this one. */
const outputTokensUsual = 4096;
/** Largest temperature that Anthropic accepts. */
const temperatureMax = 1;

/** @throws NotTranslatable when the request has a member without a counterpart in Anthropic's format */
export function anthropicRequest(chat: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(chat, terms).follow(rulesOf(rules.requestShape.kinds['']));
  request.at('model').text();
  const options = request.at('stream_options');
  if (!options.isAbsent) options.follow(rulesOf(rules.streamShape.kinds['']));
  const conversation = conversationOf(request.at('messages'));
  const { system, messages } = conversation;
  const tools = tooling(request);
  return {
    model: chat.model,
    max_tokens: chat.max_completion_tokens ?? chat.max_tokens ?? outputTokensUsual,
    ...(system.length === 0 ? {} : { system }),
    messages,
    ...sampling(request),
    ...tools,
    ...output(request, tools, conversation),
    ...account(request),
    ...copyMembers(request, 'stream', 'top_k', 'thinking'),
  };
}

function rulesOf(kind: unknown): MemberRules {
  return kind as MemberRules;
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

function tooling(request: DocumentNode): { readonly tool_choice?: Json; readonly tools?: Json[] } {
  const tools = request.at('tools');
  if (tools.isAbsent) return {};
  const list = tools.items().flatMap(toolOf);
  if (list.length === 0) return {};
  const choice = choiceOf(request.at('tool_choice'));
  const isSequential = request.at('parallel_tool_calls').value === false;
  if (!isSequential || choice?.type === 'none') {
    return { tools: list, ...(choice === null ? {} : { tool_choice: choice }) };
  }
  const single = { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true };
  return { tools: list, tool_choice: single };
}

/** Empty for a kind that is left out. */
function toolOf(tool: DocumentNode): Json[] {
  switch (tool.at('type').value) {
    case 'function':
      return [functionOf(tool)];
    case 'custom':
      return [customToolOf(tool)];
    default:
      tool.dropKind(rules.toolShape);
      return [];
  }
}

function functionOf(tool: DocumentNode): Json {
  tool.follow(rulesOf(rules.toolShape.kinds.function));
  const definition = tool.at('function').follow(rulesOf(rules.functionShape.kinds['']));
  const parameters = definition.at('parameters');
  return {
    name: definition.at('name').text(),
    ...copyMembers(definition, 'description', 'strict'),
    input_schema: parameters.isAbsent ? { type: 'object', properties: {} } : parameters.json(),
    ...copyMembers(tool, 'cache_control'),
  };
}

function customToolOf(tool: DocumentNode): Json {
  tool.follow(rulesOf(rules.toolShape.kinds.custom));
  const custom = tool.at('custom').follow(rulesOf(rules.customToolShape.kinds['']));
  const format = custom.at('format');
  const grammar = format.isAbsent ? format : format.at('grammar');
  return {
    name: custom.at('name').text(),
    ...customToolDescription(custom.at('description'), format, grammar),
    input_schema: customToolParameters,
    ...copyMembers(tool, 'cache_control'),
  };
}

/** Null when absent, or when it names nothing that Anthropic can choose. */
function choiceOf(choice: DocumentNode): Json | null {
  if (choice.isAbsent) return null;
  if (choice.isText) {
    const type = choiceWords.get(choice.text());
    if (type !== undefined) return { type };
    choice.dropMeaning();
    return null;
  }
  const { value: type } = choice.at('type');
  if (type !== 'function' && type !== 'custom') {
    choice.dropKind(rules.choiceShape);
    return null;
  }
  choice.follow(rulesOf(rules.choiceShape.kinds[type]));
  return { type: 'tool', name: choice.at(type).only('name').at('name').text() };
}

const choiceWords = new Map([
  ['auto', 'auto'],
  ['none', 'none'],
  ['required', 'any'],
]);

/** Translates the response format and the reasoning effort. */
function output(
  request: DocumentNode,
  tools: { readonly tool_choice?: Json },
  conversation: Conversation,
): Json {
  const config: Record<string, unknown> = { ...formatOf(request.at('response_format')) };
  const effort = request.at('reasoning_effort');
  if (effort.isAbsent) return Object.keys(config).length === 0 ? {} : { output_config: config };
  const { value: choice } = new DocumentNode(tools.tool_choice?.type);
  const { temperature, top_k, max_completion_tokens, max_tokens } = request.json();
  const translated = anthropicThinking(effort.text(), {
    model: request.json().model,
    maxTokens: max_completion_tokens ?? max_tokens ?? outputTokensUsual,
    isUnconstrained:
      choice !== 'any' && choice !== 'tool' && (temperature ?? 1) === 1 && (top_k ?? null) === null,
    hasEarlierThinking: conversation.canThink,
  });
  if (translated.effort === undefined && translated.thinking === undefined) effort.dropHint();
  if (translated.effort !== undefined) config.effort = translated.effort;
  const { thinking } = translated;
  return {
    ...(Object.keys(config).length === 0 ? {} : { output_config: config }),
    ...(thinking === undefined ? {} : { thinking }),
  };
}

function formatOf(format: DocumentNode): Json {
  if (format.isAbsent || format.at('type').value === 'text') return {};
  if (format.at('type').value !== 'json_schema') {
    format.dropKind(rules.formatShape);
    return {};
  }
  const schema = format.follow(rulesOf(rules.formatShape.kinds.json_schema)).at('json_schema');
  schema.follow(rulesOf(rules.schemaShape.kinds['']));
  const closed = closedSchema(schema.at('schema').json());
  return { format: { type: 'json_schema', schema: closed } };
}

function account(request: DocumentNode): Json {
  const user = [request.at('safety_identifier'), request.at('user')].find((one) => !one.isAbsent);
  const tier = request.at('service_tier');
  const name = tier.isAbsent ? undefined : serviceTiers.get(tier.text());
  if (!tier.isAbsent && name === undefined) tier.dropHint();
  return {
    ...(user === undefined ? {} : { metadata: { user_id: user.text() } }),
    ...(name === undefined ? {} : { service_tier: name }),
  };
}

const serviceTiers = new Map([
  ['auto', 'auto'],
  ['default', 'standard_only'],
]);
