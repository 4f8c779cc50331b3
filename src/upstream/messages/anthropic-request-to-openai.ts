/** Translates a request from Anthropic's format to OpenAI's. */
import { createHash } from 'node:crypto';

import { type ChatExtensions, chatExtensionsOf } from '../../model/services/chat-extensions.ts';
import { outputLimitName } from '../../model/services/provider-addresses.ts';
import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { MemberRules } from '../documents/member-rules.ts';
import { chatEffort } from '../translation/reasoning-effort.ts';
import { acceptedSampling } from '../translation/sampling.ts';
import { markedFor } from '../translation/thought-signatures.ts';
import type { RequestTerms } from '../translation/translation.ts';
import { cacheControlOf } from './anthropic-blocks-to-openai.ts';
import { chatMessagesFromTurns } from './anthropic-turns-to-openai.ts';
import * as rules from './message-rules.ts';

/** @throws NotTranslatable when the request has a member without a counterpart in OpenAI's format */
export function openAiRequest(message: Json, terms: RequestTerms): Json {
  const extensions = chatExtensionsOf(terms.service, terms.isIntermediate === true);
  const request = DocumentNode.ofRequest(message, terms).follow(
    rulesOf(rules.requestShape.kinds['']),
  );
  request.at('model').text();
  const isStream = request.at('stream').value === true;
  const messages = chatMessagesFromTurns(request.at('system'), request.at('messages'), extensions);
  const chat = {
    model: message.model,
    messages: markedFor(message.model, extensions, messages),
    ...copyMember(request, 'max_tokens', outputLimitName(terms.service)),
    ...copyMember(request, 'temperature'),
    ...copyMember(request, 'top_p'),
    ...topK(request.at('top_k'), extensions),
    ...copyMember(request, 'stop_sequences', 'stop'),
    ...copyMember(request, 'stream'),
    // Streams of Anthropic always report usage.
    ...(isStream ? { stream_options: { include_usage: true } } : {}),
    ...tooling(request, extensions),
    ...output(request),
    ...account(request),
  };
  return acceptedSampling(chat, terms, (name) => request.at(name).dropHint());
}

function rulesOf(kind: unknown): MemberRules {
  return kind as MemberRules;
}

function copyMember(request: DocumentNode, name: string, targetName = name): Json {
  const word = request.at(name);
  return word.isAbsent ? {} : { [targetName]: word.value };
}

function topK(word: DocumentNode, { hasTopK }: ChatExtensions): Json {
  if (word.isAbsent) return {};
  if (hasTopK) return { top_k: word.value };
  word.dropHint();
  return {};
}

function tooling(request: DocumentNode, extensions: ChatExtensions): Json {
  const tools = request.at('tools');
  if (tools.isAbsent) return {};
  const choice = request.at('tool_choice');
  const isOptional = isUnforced(choice) && tools.items().some(isToolOfCaller);
  const list = tools.items().flatMap((tool) => toolOf(tool, extensions, isOptional));
  if (list.length === 0) return {};
  if (choice.isAbsent) return { tools: list };
  const selected = choiceOf(choice);
  if (selected === null) return { tools: list };
  const isSequential = choice.at('disable_parallel_tool_use').value === true;
  return {
    tools: list,
    tool_choice: selected,
    ...(isSequential ? { parallel_tool_calls: false } : {}),
  };
}

function isUnforced(choice: DocumentNode): boolean {
  if (choice.isAbsent) return true;
  const { value: type } = choice.at('type');
  return type === 'auto' || type === 'none';
}

function isToolOfCaller(tool: DocumentNode): boolean {
  const type = tool.at('type');
  return type.isAbsent || type.value === 'custom';
}

/** Empty for a tool that Anthropic runs or defines, where it may be left out. */
function toolOf(tool: DocumentNode, extensions: ChatExtensions, isOptional: boolean): Json[] {
  if (!isToolOfCaller(tool)) {
    tool.dropKind(rules.toolShape, isOptional);
    return [];
  }
  tool.follow(rulesOf(rules.toolShape.kinds.custom));
  const definition = {
    name: tool.at('name').text(),
    ...copyMember(tool, 'description'),
    parameters: tool.at('input_schema').json(),
    ...copyMember(tool, 'strict'),
  };
  return [{ type: 'function', function: definition, ...cacheControlOf(tool, extensions) }];
}

/** Null when it names nothing that is left. */
function choiceOf(choice: DocumentNode): unknown {
  const type = choice.at('type');
  const ofKind = rules.choiceShape.kinds[type.text()];
  if (ofKind === undefined) {
    type.dropMeaning();
    return null;
  }
  choice.follow(rulesOf(ofKind));
  switch (type.value) {
    case 'any':
      return 'required';
    case 'tool':
      return { type: 'function', function: { name: choice.at('name').text() } };
    default:
      return type.value;
  }
}

function output(request: DocumentNode): Json {
  const config = request.at('output_config');
  const thinking = request.at('thinking');
  if (!thinking.isAbsent) {
    const ofKind = rules.thinkingShape.kinds[String(thinking.at('type').value)];
    if (ofKind !== undefined) thinking.follow(rulesOf(ofKind));
  }
  const older = request.at('output_format');
  if (config.isAbsent) {
    const effort = chatEffort(thinking, new DocumentNode(undefined), request.at('model').value);
    return { ...effort, ...responseFormatOf(older) };
  }
  config.follow(rulesOf(rules.outputShape.kinds['']));
  return {
    ...chatEffort(thinking, config.at('effort'), request.at('model').value),
    ...responseFormatOf(config.at('format').isAbsent ? older : config.at('format')),
  };
}

function responseFormatOf(format: DocumentNode): Json {
  if (format.isAbsent) return {};
  if (format.at('type').value !== 'json_schema') {
    format.at('type').dropMeaning();
    return {};
  }
  format.follow(rulesOf(rules.outputFormatShape.kinds.json_schema));
  const schema = { name: 'answer', schema: format.at('schema').json(), strict: true };
  return { response_format: { type: 'json_schema', json_schema: schema } };
}

/** OpenAI refuses longer ones; Claude Code sends 160 characters and more. */
const userCharsMax = 64;

function account(request: DocumentNode): Json {
  const metadata = request.at('metadata');
  const tier = request.at('service_tier');
  const isStandard = tier.value === 'standard_only';
  // Without a tier, both providers choose one.
  if (!tier.isAbsent && !isStandard && tier.value !== 'auto') tier.dropHint();
  return {
    ...(metadata.isAbsent ? {} : userOf(metadata)),
    ...(isStandard ? { service_tier: 'default' } : {}),
  };
}

/** A long name becomes its digest, which is as stable. */
function userOf(metadata: DocumentNode): Json {
  const user = metadata.follow(rulesOf(rules.metadataShape.kinds[''])).at('user_id');
  if (user.isAbsent) return {};
  const name = user.text();
  if (name.length <= userCharsMax) return { user: name };
  return { user: createHash('sha256').update(name).digest('hex') };
}
