/** Knows how a request for a response in the format of OpenAI is made a request for a chat. */
import { type Json, DocumentNode } from './document-node.ts';
import { chatMessagesOf } from './responses-items-to-chat.ts';

/**
 * `maxName` is the word of the provider for how much a model may answer.
 *
 * @throws NotTranslatable where it says what a chat has no word for
 */
export function chatRequest(asked: Json, maxName: 'max_tokens' | 'max_completion_tokens'): Json {
  const request = new DocumentNode(asked).only(
    ...carriedWords,
    ...wordsOfTheGateway,
    ...wordsWithoutEffect,
  );
  requireUsual(request);
  request.at('model').text();
  // Of one in the background is to be known how far it has come.
  const isStream = request.at('stream').value === true || request.at('background').value === true;
  const most = request.at('max_output_tokens');
  return {
    model: asked.model,
    messages: chatMessagesOf(request.at('instructions'), request.at('input')),
    ...(most.isAbsent ? {} : { [maxName]: most.number() }),
    ...copyMembers(request, 'temperature', 'top_p', 'parallel_tool_calls', 'user', 'safety_identifier'),
    ...copyMembers(request, 'service_tier'),
    ...tooling(request),
    ...textFormatOf(request.at('text')),
    ...reasoningEffort(request.at('reasoning')),
    // What was used stands in the last event.
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

/** Read here. */
const carriedWords = [
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

/** What the gateway does itself. */
const wordsOfTheGateway = ['store', 'background', 'previous_response_id', 'metadata'];

/** What they ask for is no other answer: bounds on what only a provider calls, and hints to caches. */
const wordsWithoutEffect = ['max_tool_calls', 'prompt_cache_key', 'prompt_cache_retention'];

/** Of tools that a provider runs, of which there are none here. */
const includedWithoutEffect = new Set<unknown>([
  'reasoning.encrypted_content',
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'code_interpreter_call.outputs',
  'computer_call_output.output.image_url',
  'message.input_image.image_url',
]);

/** They may say what goes without saying. */
function requireUsual(request: DocumentNode): void {
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
  const said = names.filter((name) => !request.at(name).isAbsent);
  return Object.fromEntries(said.map((name) => [name, request.at(name).value]));
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

/** What form the answer is to have. */
function textFormatOf(text: DocumentNode): Json {
  if (text.isAbsent) return {};
  const format = text.only('format', 'verbosity').at('format');
  const said = copyMembers(text, 'verbosity');
  const type = format.isAbsent ? 'text' : format.at('type').text();
  if (type === 'text') return said;
  if (type === 'json_object') return { ...said, response_format: { type } };
  if (type !== 'json_schema') format.at('type').refuseUnsupported();
  format.only('type', 'name', 'description', 'schema', 'strict');
  const schema = copyMembers(format, 'name', 'description', 'schema', 'strict');
  return { ...said, response_format: { type, json_schema: schema } };
}

/** Summaries of it are shown where there are any, and a chat has none. */
function reasoningEffort(reasoning: DocumentNode): Json {
  if (reasoning.isAbsent) return {};
  const effort = reasoning.only('effort', 'summary', 'generate_summary').at('effort');
  return effort.isAbsent ? {} : { reasoning_effort: effort.text() };
}
