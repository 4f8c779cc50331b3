/** Translates a request of Converse of Amazon Bedrock to a chat request in OpenAI's format. */
import { chatExtensionsOf } from '../../model/services/chat-extensions.ts';
import { outputLimitName } from '../../model/services/provider-addresses.ts';
import { DocumentNode, type Json } from '../documents/document-node.ts';
import { chatEffort } from '../translation/reasoning-effort.ts';
import { markedFor } from '../translation/thought-signatures.ts';
import type { RequestTerms } from '../translation/translation.ts';
import * as rules from './converse-request-rules.ts';
import { type ConverseTerms, cacheMark, chatMessagesOf } from './converse-turns-to-chat.ts';

/** Members of a chat that Bedrock has for some models only. */
const modelFields = ['top_k', 'thinking', 'reasoning_config'];

/** @throws NotTranslatable when the request has a member without a counterpart in a chat */
export function chatFromConverse(sent: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(sent, terms).follow(rules.requestShape.kinds['']);
  const isIntermediate = terms.isIntermediate === true;
  const extensions = chatExtensionsOf(terms.service, isIntermediate);
  const about: ConverseTerms = { extensions };
  const model = request.at('model').text();
  return {
    model,
    messages: markedFor(model, extensions, chatMessagesOf(request, about)),
    ...inference(request.at('inferenceConfig'), terms),
    ...tooling(request.at('toolConfig'), about),
    ...output(request),
    ...ofModel(request, extensions.hasTopK, isIntermediate),
    ...(sent.stream === true ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

function inference(config: DocumentNode, { service, isIntermediate }: RequestTerms): Json {
  if (config.isAbsent) return {};
  config.follow(rules.inferenceShape.kinds['']);
  const { maxTokens, temperature, topP, stopSequences: stop } = config.json();
  const maxName = isIntermediate === true ? 'max_completion_tokens' : outputLimitName(service);
  return {
    ...((maxTokens ?? null) === null ? {} : { [maxName]: maxTokens }),
    ...((temperature ?? null) === null ? {} : { temperature }),
    ...((topP ?? null) === null ? {} : { top_p: topP }),
    ...(Array.isArray(stop) && stop.length > 0 ? { stop } : {}),
  };
}

function tooling(config: DocumentNode, terms: ConverseTerms): Json {
  if (config.isAbsent) return {};
  config.follow(rules.toolConfigShape.kinds['']);
  const tools: Record<string, unknown>[] = [];
  for (const tool of config.at('tools').items()) {
    if (!tool.at('cachePoint').isAbsent) Object.assign(tools.at(-1) ?? {}, cacheMark(tool, terms));
    else if (tool.at('toolSpec').isAbsent) tool.dropMeaning();
    else tools.push(toolOf(tool));
  }
  if (tools.length === 0) return {};
  const choice = choiceOf(config.at('toolChoice'));
  return { tools, ...(choice === null ? {} : { tool_choice: choice }) };
}

function toolOf(tool: DocumentNode): Record<string, unknown> {
  const spec = tool.only('toolSpec').at('toolSpec');
  spec.follow(rules.specShape.kinds['']);
  const { description, strict } = spec.json();
  const schema = spec.at('inputSchema');
  return {
    type: 'function',
    function: {
      name: spec.at('name').text(),
      ...((description ?? null) === null ? {} : { description }),
      ...(schema.isAbsent ? {} : { parameters: schema.only('json').at('json').json() }),
      ...(strict === true ? { strict } : {}),
    },
  };
}

/** Null when the model may choose. */
function choiceOf(choice: DocumentNode): unknown {
  if (choice.isAbsent) return null;
  choice.follow(rules.choiceShape.kinds['']);
  if (!choice.at('any').isAbsent) return 'required';
  const tool = choice.at('tool');
  if (tool.isAbsent) return null;
  return { type: 'function', function: { name: tool.only('name').at('name').text() } };
}

const tiers = new Map<unknown, string>([
  ['default', 'default'],
  ['flex', 'flex'],
  ['priority', 'priority'],
]);

function output(request: DocumentNode): Json {
  const tier = request.at('serviceTier');
  const config = request.at('outputConfig');
  const type = tier.isAbsent ? undefined : tiers.get(tier.only('type').at('type').value);
  if (!tier.isAbsent && type === undefined) tier.dropHint();
  const served = type === undefined ? {} : { service_tier: type };
  if (config.isAbsent) return served;
  config.follow(rules.outputShape.kinds['']);
  const effort = config.at('effort');
  const format = config.at('textFormat');
  return {
    ...served,
    ...(effort.isAbsent ? {} : { reasoning_effort: effort.text() }),
    ...(format.isAbsent ? {} : { response_format: responseFormat(format) }),
  };
}

function responseFormat(format: DocumentNode): Json {
  format.only('type', 'structure');
  const schema = format.at('structure').only('jsonSchema').at('jsonSchema');
  const { name, description } = schema.only('schema', 'name', 'description').json();
  const text = schema.at('schema');
  return {
    type: 'json_schema',
    json_schema: {
      name: name ?? 'response',
      ...((description ?? null) === null ? {} : { description }),
      schema: parsedSchema(text),
    },
  };
}

function parsedSchema(node: DocumentNode): unknown {
  try {
    return JSON.parse(node.text());
  } catch {
    return node.refuse('must be a JSON schema');
  }
}

/** Members that only some models of Bedrock have; all others than these have no counterpart. */
function ofModel(request: DocumentNode, hasTopK: boolean, isIntermediate: boolean): Json {
  const fields = request.at('additionalModelRequestFields');
  if (fields.isAbsent) return {};
  fields.only(...modelFields);
  const topK = fields.at('top_k');
  if (!topK.isAbsent && !hasTopK) topK.dropHint();
  const thinking = fields.at('thinking').isAbsent
    ? fields.at('reasoning_config')
    : fields.at('thinking');
  return {
    ...(topK.isAbsent || !hasTopK ? {} : { top_k: topK.value }),
    ...(thinking.isAbsent ? {} : thinkingOf(thinking, request, isIntermediate)),
  };
}

function thinkingOf(thinking: DocumentNode, request: DocumentNode, isIntermediate: boolean): Json {
  if (isIntermediate) return { thinking: thinking.json() };
  return chatEffort(thinking, new DocumentNode(undefined), request.at('model').value);
}
