/** Translates the messages of a chat from OpenAI's format to Anthropic's. */

import type { DocumentNode, Json } from '../documents/document-node.ts';
import { parseExactly } from '../documents/exact-json.ts';

/** A turn in Anthropic's format. */
interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: Json[];
}

export interface Conversation {
  /** Content of all `system` and `developer` messages. */
  readonly system: readonly Json[];
  readonly messages: readonly Turn[];
}

/** @throws NotTranslatable */
export function conversationOf(messages: DocumentNode): Conversation {
  const system: Json[] = [];
  const turns: Turn[] = [];
  // Consecutive messages of one role form one turn, because tool results must be in the turn after their calls.
  const add = (role: Turn['role'], content: readonly Json[]): void => {
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content: [...content] });
  };
  for (const message of messages.items()) {
    const role = message.at('role');
    switch (role.value) {
      case 'system':
      case 'developer':
        message.only('role', 'content', ...extensions);
        system.push(...contentOf(message, textPart));
        break;
      case 'user':
        message.only('role', 'content', ...extensions);
        add('user', contentOf(message, userPart));
        break;
      case 'assistant':
        add('assistant', assistantBlocks(message));
        break;
      case 'tool':
        // `name` is redundant with the call.
        message.only('role', 'content', 'tool_call_id', 'name', ...extensions);
        add('user', [toolResult(message)]);
        break;
      default:
        role.text();
        role.refuseUnsupported();
    }
  }
  return { system, messages: turns };
}

/** Members of Anthropic that its users send in OpenAI's format. */
const extensions = ['cache_control'];

function cacheControlOf(place: DocumentNode): Json {
  const mark = place.at('cache_control');
  return mark.isAbsent ? {} : { cache_control: mark.value };
}

function contentOf(message: DocumentNode, partOf: (part: DocumentNode) => Json): Json[] {
  const content = message.at('content');
  if (!content.isText) return content.items().map((part) => partOf(part));
  const text = content.text();
  // Anthropic rejects empty texts, so they are omitted.
  return text === '' ? [] : [{ type: 'text', text, ...cacheControlOf(message) }];
}

function textPart(part: DocumentNode, ignored: readonly string[] = []): Json {
  if (part.at('type').text() !== 'text') part.at('type').refuseUnsupported();
  return textOf(part, ignored);
}

function textOf(part: DocumentNode, beside: readonly string[] = []): Json {
  part.only('type', 'text', ...extensions, ...beside);
  return { type: 'text', text: part.at('text').text(), ...cacheControlOf(part) };
}

function userPart(part: DocumentNode): Json {
  const type = part.at('type');
  switch (type.text()) {
    case 'text':
      return textOf(part);
    case 'image_url':
      return imageOf(part);
    case 'file':
      return documentOf(part);
    default:
      return type.refuseUnsupported();
  }
}

/** `detail` is ignored because Anthropic has no counterpart. */
function imageOf(part: DocumentNode): Json {
  part.only('type', 'image_url', ...extensions);
  const url = part.at('image_url').only('url', 'detail').at('url');
  const data = dataUrl(url.text());
  const source =
    data === null
      ? { type: 'url', url: url.value }
      : { type: 'base64', media_type: data.mediaType, data: data.base64 };
  return { type: 'image', source, ...cacheControlOf(part) };
}

function documentOf(part: DocumentNode): Json {
  part.only('type', 'file', ...extensions);
  const file = part.at('file').only('file_data', 'filename');
  const data = dataUrl(file.at('file_data').text());
  if (data === null || data.mediaType !== 'application/pdf') {
    return file.at('file_data').refuse('must be a data URL of a PDF for a provider of this format');
  }
  const title = file.at('filename');
  return {
    type: 'document',
    source: { type: 'base64', media_type: data.mediaType, data: data.base64 },
    ...(title.isAbsent ? {} : { title: title.text() }),
    ...cacheControlOf(part),
  };
}

/** Null for other URLs. */
function dataUrl(url: string): { readonly mediaType: string; readonly base64: string } | null {
  const head = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.+-]+)*;base64,/i.exec(url.slice(0, 256));
  if (head === null) return null;
  return { mediaType: head[1]!.toLowerCase(), base64: url.slice(head[0].length) };
}

/** Converts an earlier response of the model: text, refusal and tool calls. */
function assistantBlocks(message: DocumentNode): Json[] {
  message.only('role', 'content', 'refusal', 'tool_calls', ...extensions, ...ignoredBesideText);
  const blocks = message.at('content').isAbsent ? [] : contentOf(message, assistantPart);
  const refusal = message.at('refusal');
  if (!refusal.isAbsent) blocks.push({ type: 'text', text: refusal.text() });
  const calls = message.at('tool_calls');
  if (!calls.isAbsent) blocks.push(...calls.items().map(toolUse));
  return blocks;
}

/** Output-only members that clients send back. */
const ignoredBesideText = [
  'annotations',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'logprobs',
];
/** Some clients repeat members of the message in its parts. */
const ignoredInParts = [...ignoredBesideText, 'role', 'refusal', 'tool_calls'];

function assistantPart(part: DocumentNode): Json {
  const type = part.at('type').text();
  if (type !== 'refusal') return textPart(part, ignoredInParts);
  part.only('type', 'refusal');
  return { type: 'text', text: part.at('refusal').text() };
}

function toolUse(call: DocumentNode): Json {
  if (call.at('type').value !== 'function') call.at('type').refuseUnsupported();
  call.only('id', 'type', 'function');
  const called = call.at('function').only('name', 'arguments');
  return {
    type: 'tool_use',
    id: call.at('id').text(),
    name: called.at('name').text(),
    input: parseArguments(called.at('arguments')),
  };
}

/** Parses the arguments, which are text at OpenAI and an object at Anthropic. */
export function parseArguments(node: DocumentNode): Json {
  const text = node.text();
  if (text.trim() === '') return {};
  let value: unknown;
  try {
    value = parseExactly(text);
  } catch {
    node.refuse('must be JSON for a provider of this format');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    node.refuse('must be a JSON object for a provider of this format');
  }
  return value as Json;
}

function toolResult(message: DocumentNode): Json {
  return {
    type: 'tool_result',
    tool_use_id: message.at('tool_call_id').text(),
    content: message.at('content').isText
      ? message.at('content').value
      : message
          .at('content')
          .items()
          .map((part) => textPart(part)),
    ...cacheControlOf(message),
  };
}
