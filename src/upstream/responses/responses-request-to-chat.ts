/** Translates a responses request to a chat request. */

import {
  type ChatExtensions,
  canReason,
  chatExtensionsOf,
} from '../../model/services/chat-extensions.ts';
import { outputLimitName } from '../../model/services/provider-addresses.ts';
import { copyMembers } from '../documents/copy-members.ts';
import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { MemberRules } from '../documents/member-rules.ts';
import { markedFor } from '../translation/thought-signatures.ts';
import type { RequestTerms } from '../translation/translation.ts';
import * as rules from './response-rules.ts';
import { chatMessagesFromItems } from './responses-items-to-chat.ts';
import { toolingOf } from './responses-tools-to-chat.ts';

/** @throws NotTranslatable when the request has a member without a counterpart in a chat */
export function chatRequest(params: Json, terms: RequestTerms): Json {
  const extensions = chatExtensionsOf(terms.service, terms.isIntermediate === true);
  const request = DocumentNode.ofRequest(params, terms).follow(
    rulesOf(rules.requestShape.kinds['']),
  );
  requireOwnConversation(request.at('conversation'));
  requireKnownIncludes(request.at('include'));
  request.at('model').text();
  // Background responses are streamed, so that their progress is known.
  const isStream = request.at('stream').value === true || request.at('background').value === true;
  const most = request.at('max_output_tokens');
  const messages = chatMessagesFromItems(
    request.at('instructions'),
    request.at('input'),
    extensions,
  );
  return {
    model: params.model,
    messages: markedFor(params.model, extensions, messages),
    ...(most.isAbsent ? {} : { [outputLimitName(terms.service)]: most.number() }),
    ...copyMembers(
      request,
      'temperature',
      'top_p',
      'parallel_tool_calls',
      'user',
      'safety_identifier',
      'service_tier',
    ),
    ...hintsOf(request, extensions, 'prompt_cache_key', 'prompt_cache_retention'),
    ...toolingOf(request),
    ...textFormatOf(request.at('text'), extensions),
    ...reasoningEffort(request.at('reasoning'), params.model),
    // The last event contains the usage.
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

function rulesOf(kind: unknown): MemberRules {
  return kind as MemberRules;
}

/** Values of `include` for provider tools, which a chat does not have. */
const includedWithoutEffect = new Set<unknown>([
  'reasoning.encrypted_content',
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'code_interpreter_call.outputs',
  'computer_call_output.output.image_url',
  'message.input_image.image_url',
]);

function requireOwnConversation(conversation: DocumentNode): void {
  if (conversation.isAbsent) return;
  conversation.refuse(
    'names a conversation of another provider: create one in the gateway, or continue a response with previous_response_id',
  );
}

function requireKnownIncludes(include: DocumentNode): void {
  for (const item of include.isAbsent ? [] : include.items()) {
    if (!includedWithoutEffect.has(item.value)) item.dropMeaning();
  }
}

/** Copies members that only OpenAI's own services accept. */
function hintsOf(
  place: DocumentNode,
  { hasOpenAiHints }: ChatExtensions,
  ...names: readonly string[]
): Json {
  if (hasOpenAiHints) return copyMembers(place, ...names);
  for (const name of names) {
    const hint = place.at(name);
    if (!hint.isAbsent && hint.value !== 'medium') hint.dropHint();
  }
  return {};
}

/** Translates the response format. */
function textFormatOf(text: DocumentNode, extensions: ChatExtensions): Json {
  if (text.isAbsent) return {};
  const format = text.follow(rulesOf(rules.textShape.kinds[''])).at('format');
  const verbosity = hintsOf(text, extensions, 'verbosity');
  const type = format.isAbsent ? 'text' : format.at('type').text();
  const ofKind = Object.hasOwn(rules.formatShape.kinds, type)
    ? rules.formatShape.kinds[type]
    : undefined;
  if (ofKind === undefined) {
    format.at('type').dropMeaning();
    return verbosity;
  }
  if (type === 'text') return verbosity;
  if (type === 'json_object') return { ...verbosity, response_format: { type } };
  format.follow(rulesOf(ofKind));
  const schema = copyMembers(format, 'name', 'description', 'schema', 'strict');
  return { ...verbosity, response_format: { type, json_schema: schema } };
}

function reasoningEffort(reasoning: DocumentNode, model: unknown): Json {
  if (reasoning.isAbsent) return {};
  const effort = reasoning.follow(rulesOf(rules.reasoningShape.kinds[''])).at('effort');
  if (effort.isAbsent) return {};
  if (canReason(model)) return { reasoning_effort: effort.text() };
  effort.dropHint();
  return {};
}
