/** Translates a chat request from OpenAI's format to Converse of Amazon Bedrock. */
import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { RequestTerms } from '../translation/translation.ts';
import { cachePointOf, withoutCachePoints } from './cache-point.ts';
import { callsAsText } from './calls-as-text.ts';
import * as rules from './chat-to-converse-rules.ts';
import { converseTurns } from './chat-turns-to-converse.ts';
import { cachePlacesOf, effortFormOf, isNova } from './model-abilities.ts';

/** Members of Converse that its users send in OpenAI's format. */
const extensions = [
  'additionalModelResponseFieldPaths',
  'guardrailConfig',
  'performanceConfig',
  'requestMetadata',
];

/** @throws NotTranslatable when the request has a member without a counterpart */
export function converseRequest(chat: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(chat, terms).follow(rules.requestShape.kinds['']);
  const options = request.at('stream_options');
  if (!options.isAbsent) options.follow(rules.streamShape.kinds['']);
  const model = request.at('model').text();
  const { system, messages } = converseTurns(request.at('messages'));
  const tools = tooling(request);
  const translated = {
    model,
    ...(chat.stream === true ? { stream: true } : {}),
    ...(system.length === 0 ? {} : { system }),
    messages: tools.toolConfig === undefined ? callsAsText(messages) : messages,
    ...inference(request),
    ...tools,
    ...output(request),
    ...modelFields(request),
    ...copied(request, extensions),
  };
  return withoutCachePoints(translated, cachePlacesOf(model), request);
}

function copied(request: DocumentNode, names: readonly string[]): Json {
  const present = names.filter((name) => !request.at(name).isAbsent);
  return Object.fromEntries(present.map((name) => [name, request.at(name).value]));
}

function inference(request: DocumentNode): Json {
  const stop = request.at('stop');
  const { max_completion_tokens: most, max_tokens: mostOld } = request.json();
  const maxTokens = most ?? mostOld ?? null;
  const config = {
    ...(maxTokens === null ? {} : { maxTokens }),
    ...(request.at('temperature').isAbsent ? {} : { temperature: request.json().temperature }),
    ...(request.at('top_p').isAbsent ? {} : { topP: request.json().top_p }),
    ...(stop.isAbsent ? {} : { stopSequences: stop.isText ? [stop.text()] : stop.value }),
  };
  return Object.keys(config).length === 0 ? {} : { inferenceConfig: config };
}

/** Without a choice Converse lets the model choose; it has none for no tool, so the tools are left out. */
function tooling(request: DocumentNode): { readonly toolConfig?: Json } {
  const tools = request.at('tools');
  const choice = request.at('tool_choice');
  if (tools.isAbsent || choice.value === 'none') return {};
  const list = tools.items().flatMap(toolOf);
  if (list.length === 0) return {};
  const toolChoice = choiceOf(choice);
  return { toolConfig: { tools: list, ...(toolChoice === null ? {} : { toolChoice }) } };
}

function toolOf(tool: DocumentNode): Json[] {
  if (tool.at('type').value !== 'function') {
    tool.dropKind(rules.toolShape);
    return [];
  }
  tool.follow(rules.toolShape.kinds.function);
  const definition = tool.at('function').follow(rules.functionShape.kinds['']);
  const { description, parameters, strict } = definition.json();
  const spec = {
    name: definition.at('name').text(),
    ...((description ?? '') === '' ? {} : { description }),
    inputSchema: { json: parameters ?? { type: 'object', properties: {} } },
    ...(strict === true ? { strict } : {}),
  };
  return [{ toolSpec: spec }, ...cachePointOf(tool)];
}

/** Null when the model may choose. */
function choiceOf(choice: DocumentNode): Json | null {
  if (choice.isAbsent || choice.value === 'auto') return null;
  if (choice.value === 'required') return { any: {} };
  if (choice.isText) {
    choice.dropMeaning();
    return null;
  }
  if (choice.at('type').value !== 'function') {
    choice.dropKind(rules.choiceShape);
    return null;
  }
  const { function: named } = rules.choiceShape.kinds;
  const name = choice.follow(named).at('function').only('name').at('name').text();
  return { tool: { name } };
}

function output(request: DocumentNode): Json {
  const format = request.at('response_format');
  const effort = request.at('reasoning_effort');
  const tier = request.at('service_tier');
  const config: Record<string, unknown> = {};
  if (!format.isAbsent && format.at('type').value !== 'text') {
    if (format.at('type').value === 'json_schema') config.textFormat = textFormat(format);
    else format.dropKind(rules.formatShape);
  }
  if (!effort.isAbsent) {
    const form = effortFormOf(request.at('model').text());
    if (effort.value === 'none' || form === null) effort.dropHint();
    else if (form === 'effort') config.effort = effort.text();
  }
  return {
    ...(Object.keys(config).length === 0 ? {} : { outputConfig: config }),
    ...(tier.isAbsent || tier.value === 'auto' ? {} : { serviceTier: { type: tier.text() } }),
  };
}

function textFormat(format: DocumentNode): Json {
  const schema = format.follow(rules.formatShape.kinds.json_schema).at('json_schema');
  const { name, description } = schema.follow(rules.schemaShape.kinds['']).json();
  const jsonSchema = {
    schema: JSON.stringify(schema.at('schema').json()),
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
  };
  return { type: 'json_schema', structure: { jsonSchema } };
}

/** Members that only some models have. */
function modelFields(request: DocumentNode): Json {
  const own = request.at('additionalModelRequestFields');
  const fields = {
    ...topK(request),
    ...copied(request, ['thinking']),
    ...reasoningConfig(request),
    ...(own.isAbsent ? {} : own.json()),
  };
  return Object.keys(fields).length === 0 ? {} : { additionalModelRequestFields: fields };
}

/** Nova has it beside its other settings. */
function topK(request: DocumentNode): Json {
  const { value } = request.at('top_k');
  if ((value ?? null) === null) return {};
  return isNova(request.at('model').text())
    ? { inferenceConfig: { topK: value } }
    : { top_k: value };
}

/** Efforts of the second generation of Nova; the highest one excludes a limit of the output. */
const novaEfforts = new Map([
  ['minimal', 'low'],
  ['low', 'low'],
]);

function reasoningConfig(request: DocumentNode): Json {
  const effort = request.at('reasoning_effort');
  if (effort.isAbsent || effort.value === 'none') return {};
  if (effortFormOf(request.at('model').text()) !== 'reasoningConfig') return {};
  const maxReasoningEffort = novaEfforts.get(effort.text()) ?? 'medium';
  return { reasoningConfig: { type: 'enabled', maxReasoningEffort } };
}
