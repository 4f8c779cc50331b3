/** Translates the turns of a conversation from Anthropic's format to OpenAI's. */
import type { DocumentNode, Json } from '../documents/document-node.ts';

/** @throws NotTranslatable */
export function chatMessagesFromTurns(system: DocumentNode, turns: DocumentNode): Json[] {
  const messages: Json[] = [];
  if (!system.isAbsent) {
    messages.push({ role: 'system', content: plainText(system) });
  }
  for (const turn of turns.items()) {
    turn.only('role', 'content');
    const role = turn.at('role');
    if (role.value === 'user') messages.push(...userMessages(turn.at('content')));
    else if (role.value === 'assistant') messages.push(assistantMessage(turn.at('content')));
    else if (role.value === 'system') {
      messages.push({ role: 'system', content: plainText(turn.at('content')) });
    } else {
      role.text();
      role.refuseUnsupported();
    }
  }
  return messages;
}

/** OpenAI decides what it caches, so `cache_control` is ignored. */
const ignoredMember = 'cache_control';

/** Converts a text, or blocks of text, to a text or to parts. */
function plainText(content: DocumentNode): unknown {
  return content.isText ? content.value : simplify(content.items().map(textPart));
}

/** Many compatible services accept only a plain text. */
function simplify(parts: readonly Json[]): unknown {
  return parts.length === 1 && parts[0]!.type === 'text' ? parts[0]!.text : parts;
}

function textPart(block: DocumentNode): Json {
  if (block.at('type').text() !== 'text') block.at('type').refuseUnsupported();
  return textOf(block);
}

function textOf(block: DocumentNode): Json {
  const citations = block.only('type', 'text', 'citations', ignoredMember).at('citations');
  if (!citations.isAbsent && citations.items().length > 0) citations.refuseUnsupported();
  return { type: 'text', text: block.at('text').text() };
}

/** Tool results become separate messages, which come first. */
function userMessages(content: DocumentNode): Json[] {
  if (content.isText) return [{ role: 'user', content: content.value }];
  const results: Json[] = [];
  const parts: Json[] = [];
  for (const block of content.items()) {
    if (block.at('type').value === 'tool_result') results.push(toolMessage(block));
    else parts.push(userPart(block));
  }
  return parts.length === 0 && results.length > 0
    ? results
    : [...results, { role: 'user', content: simplify(parts) }];
}

function userPart(block: DocumentNode): Json {
  const type = block.at('type');
  switch (type.text()) {
    case 'text':
      return textOf(block);
    case 'image':
      return imagePart(block);
    case 'document':
      return filePart(block);
    default:
      return type.refuseUnsupported();
  }
}

function imagePart(block: DocumentNode): Json {
  const source = block.only('type', 'source', ignoredMember).at('source');
  const type = source.at('type');
  switch (type.value) {
    case 'base64':
      return { type: 'image_url', image_url: { url: dataUrl(source) } };
    case 'url':
      return { type: 'image_url', image_url: { url: source.only('type', 'url').at('url').text() } };
    default:
      return type.refuseUnsupported();
  }
}

function dataUrl(source: DocumentNode): string {
  source.only('type', 'media_type', 'data');
  return `data:${source.at('media_type').text()};base64,${source.at('data').text()}`;
}

/** Converts a PDF; citations have no counterpart. */
function filePart(block: DocumentNode): Json {
  block.only('type', 'source', 'title', 'citations', ignoredMember);
  const source = block.at('source');
  if (source.at('type').value !== 'base64') source.at('type').refuseUnsupported();
  const citations = block.at('citations');
  if (!citations.isAbsent && citations.only('enabled').at('enabled').value === true) {
    citations.refuseUnsupported();
  }
  const title = block.at('title');
  const filename = title.isAbsent ? 'document.pdf' : title.text();
  return { type: 'file', file: { filename, file_data: dataUrl(source) } };
}

function toolMessage(block: DocumentNode): Json {
  block.only('type', 'tool_use_id', 'content', 'is_error', ignoredMember);
  const result = block.at('content');
  const content = result.isAbsent ? '' : plainText(result);
  return {
    role: 'tool',
    tool_call_id: block.at('tool_use_id').text(),
    content: block.at('is_error').value === true ? withErrorPrefix(content) : content,
  };
}

/** OpenAI has no error flag for tool results, so the text states the error. */
function withErrorPrefix(content: unknown): unknown {
  const prefix = 'Error: ';
  if (typeof content === 'string') return prefix + content;
  return [{ type: 'text', text: prefix }, ...(content as readonly Json[])];
}

function assistantMessage(content: DocumentNode): Json {
  if (content.isText) return { role: 'assistant', content: content.value };
  const texts: string[] = [];
  const calls: Json[] = [];
  for (const block of content.items()) {
    const type = block.at('type');
    switch (type.text()) {
      case 'text':
        texts.push(textOf(block).text as string);
        break;
      case 'tool_use':
        calls.push(toolCall(block));
        break;
      // Earlier reasoning is not sent back to the model.
      case 'thinking':
      case 'redacted_thinking':
        break;
      default:
        type.refuseUnsupported();
    }
  }
  const text = texts.join('');
  return calls.length === 0
    ? { role: 'assistant', content: text }
    : { role: 'assistant', content: text === '' ? null : text, tool_calls: calls };
}

function toolCall(block: DocumentNode): Json {
  block.only('type', 'id', 'name', 'input', 'caller', ignoredMember);
  return {
    id: block.at('id').text(),
    type: 'function',
    function: {
      name: block.at('name').text(),
      arguments: JSON.stringify(block.at('input').json()),
    },
  };
}
