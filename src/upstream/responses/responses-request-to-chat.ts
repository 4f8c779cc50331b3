/** Translates a responses request to a chat request. */
import { outputLimitName } from '../../model/services/provider-addresses.ts';
import { DocumentNode, type Json } from '../documents/document-node.ts';
import type { RequestTerms } from '../translation/translation.ts';
import { chatMessagesFromItems } from './responses-items-to-chat.ts';

/** @throws NotTranslatable when the request has a member without a counterpart in a chat */
export function chatRequest(params: Json, terms: RequestTerms): Json {
  const request = DocumentNode.ofRequest(params, terms).only(
    ...translatedMembers,
    'conversation',
    ...gatewayMembers,
    ...ignoredMembers,
  );
  requireDefaults(request);
  request.at('model').text();
  // Background responses are streamed, so that their progress is known.
  const isStream = request.at('stream').value === true || request.at('background').value === true;
  const most = request.at('max_output_tokens');
  return {
    model: params.model,
    messages: chatMessagesFromItems(request.at('instructions'), request.at('input')),
    ...(most.isAbsent ? {} : { [outputLimitName(terms.service)]: most.number() }),
    ...copyMembers(
      request,
      'temperature',
      'top_p',
      'parallel_tool_calls',
      'user',
      'safety_identifier',
    ),
    ...copyMembers(request, 'service_tier'),
    ...tooling(request),
    ...textFormatOf(request.at('text')),
    ...reasoningEffort(request.at('reasoning')),
    // The last event contains the usage.
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

/** Members that are translated. */
const translatedMembers = [
  'model',
  'input',
  'instructions',
  'max_output_tokens',
  'temperature',
  'top_p',
  'stream',
  'parallel_tool_calls',
  'user',
  'safety_identifier',
  'service_tier',
  'tools',
  'tool_choice',
  'text',
  'reasoning',
  'include',
  'truncation',
  'top_logprobs',
  'stream_options',
];

/** Members that the gateway handles itself. */
const gatewayMembers = ['store', 'background', 'previous_response_id', 'metadata'];

/** Ignored members: bounds of provider tools, and hints for caches. */
const ignoredMembers = ['max_tool_calls', 'prompt_cache_key', 'prompt_cache_retention'];

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

/** Requires members without a counterpart to have their default value. */
function requireDefaults(request: DocumentNode): void {
  const conversation = request.at('conversation');
  if (!conversation.isAbsent) {
    conversation.refuse(
      'names a conversation of another provider: create one in the gateway, or continue a response with previous_response_id',
    );
  }
  const truncation = request.at('truncation');
  if (!truncation.isAbsent && truncation.value !== 'disabled') truncation.refuseUnsupported();
  const logprobs = request.at('top_logprobs');
  if (!logprobs.isAbsent && logprobs.value !== 0) logprobs.refuseUnsupported();
  const include = request.at('include');
  for (const item of include.isAbsent ? [] : include.items()) {
    if (!includedWithoutEffect.has(item.value)) item.refuseUnsupported();
  }
}

function copyMembers(request: DocumentNode, ...names: readonly string[]): Json {
  const present = names.filter((name) => !request.at(name).isAbsent);
  return Object.fromEntries(present.map((name) => [name, request.at(name).value]));
}

function tooling(request: DocumentNode): Json {
  const tools = request.at('tools');
  const list = tools.isAbsent ? [] : tools.items().map(toolOf);
  if (list.length === 0) return {};
  const choice = request.at('tool_choice');
  return { tools: list, ...(choice.isAbsent ? {} : { tool_choice: choiceOf(choice) }) };
}

function toolOf(tool: DocumentNode): Json {
  if (tool.at('type').value !== 'function') tool.at('type').refuseUnsupported();
  tool.only('type', 'name', 'description', 'parameters', 'strict');
  const name = tool.at('name').text();
  return {
    type: 'function',
    function: { name, ...copyMembers(tool, 'description', 'parameters', 'strict') },
  };
}

function choiceOf(choice: DocumentNode): unknown {
  if (choice.isText) return choice.text();
  if (choice.at('type').value !== 'function') choice.at('type').refuseUnsupported();
  const name = choice.only('type', 'name').at('name').text();
  return { type: 'function', function: { name } };
}

/** Translates the response format. */
function textFormatOf(text: DocumentNode): Json {
  if (text.isAbsent) return {};
  const format = text.only('format', 'verbosity').at('format');
  const verbosity = copyMembers(text, 'verbosity');
  const type = format.isAbsent ? 'text' : format.at('type').text();
  if (type === 'text') return verbosity;
  if (type === 'json_object') return { ...verbosity, response_format: { type } };
  if (type !== 'json_schema') format.at('type').refuseUnsupported();
  format.only('type', 'name', 'description', 'schema', 'strict');
  const schema = copyMembers(format, 'name', 'description', 'schema', 'strict');
  return { ...verbosity, response_format: { type, json_schema: schema } };
}

/** A chat has no reasoning summaries, so their settings are ignored. */
function reasoningEffort(reasoning: DocumentNode): Json {
  if (reasoning.isAbsent) return {};
  const effort = reasoning.only('effort', 'summary', 'generate_summary').at('effort');
  return effort.isAbsent ? {} : { reasoning_effort: effort.text() };
}
