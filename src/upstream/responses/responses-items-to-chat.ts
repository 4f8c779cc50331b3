/** Translates the items of a response to chat messages. */
import type { DocumentNode, Json } from '../documents/document-node.ts';

interface Message {
  readonly role: string;
  content: unknown;
  tool_calls?: Json[];
  readonly tool_call_id?: string;
}

/** @throws NotTranslatable */
export function chatMessagesFromItems(instructions: DocumentNode, input: DocumentNode): Json[] {
  const messages: Message[] = [];
  if (!instructions.isAbsent) messages.push({ role: 'system', content: instructions.text() });
  if (input.isText) messages.push({ role: 'user', content: input.text() });
  else for (const item of input.items()) add(messages, item);
  return messages.map((message) => ({ ...message }));
}

function add(messages: Message[], item: DocumentNode): void {
  const type = item.at('type');
  switch (type.value ?? 'message') {
    case 'message':
      messages.push(messageOf(item));
      break;
    case 'function_call':
      addCall(messages, item);
      break;
    case 'function_call_output':
      messages.push({
        role: 'tool',
        tool_call_id: item.at('call_id').text(),
        content: toolOutputOf(item.at('output')),
      });
      break;
    case 'reasoning':
      // Reasoning is not sent to another model.
      break;
    default:
      type.refuseUnsupported();
  }
}

/** The calls of one turn belong to one message. */
function addCall(messages: Message[], item: DocumentNode): void {
  const call = {
    id: item.at('call_id').text(),
    type: 'function',
    function: { name: item.at('name').text(), arguments: item.at('arguments').text() },
  };
  const last = messages.at(-1);
  if (last?.role === 'assistant') last.tool_calls = [...(last.tool_calls ?? []), call];
  else messages.push({ role: 'assistant', content: null, tool_calls: [call] });
}

function messageOf(item: DocumentNode): Message {
  item.only('type', 'role', 'content', 'id', 'status', 'phase');
  const role = item.at('role');
  const content = item.at('content');
  switch (role.value) {
    case 'assistant':
      return { role: 'assistant', content: content.isText ? content.text() : joinedText(content) };
    case 'user':
      return { role: 'user', content: content.isText ? content.text() : userParts(content) };
    case 'system':
    case 'developer':
      return { role: 'system', content: content.isText ? content.text() : joinedText(content) };
    default:
      return role.refuseUnsupported();
  }
}

/** Concatenates the text parts. */
function joinedText(content: DocumentNode): string {
  return content.items().map(textOf).join('');
}

function textOf(part: DocumentNode): string {
  const type = part.at('type');
  if (type.value === 'refusal') return part.at('refusal').text();
  if (!textTypes.has(type.value)) type.refuseUnsupported();
  return part.at('text').text();
}

const textTypes = new Set<unknown>(['input_text', 'output_text', 'text']);

function userParts(content: DocumentNode): Json[] {
  return content.items().map((part) => {
    const type = part.at('type');
    switch (type.value) {
      case 'input_image':
        return pictureOf(part);
      case 'input_file':
        part.only('type', 'file_data', 'filename');
        return { type: 'file', file: { file_data: part.at('file_data').text(), ...named(part) } };
      case 'input_audio':
        return { type: 'input_audio', input_audio: part.at('input_audio').json() };
      default:
        return { type: 'text', text: textOf(part) };
    }
  });
}

function named(part: DocumentNode): Json {
  const name = part.at('filename');
  return name.isAbsent ? {} : { filename: name.text() };
}

function pictureOf(part: DocumentNode): Json {
  const detail = part.only('type', 'image_url', 'detail').at('detail');
  const url = part.at('image_url').text();
  const more = detail.isAbsent ? {} : { detail: detail.text() };
  return { type: 'image_url', image_url: { url, ...more } };
}

/** Converts the output of a tool. */
function toolOutputOf(output: DocumentNode): unknown {
  return output.isText ? output.text() : joinedText(output);
}
