/** Knows how the turns of a conversation in the format of Anthropic are said in that of OpenAI. */
import type { Json, DocumentNode } from './document-node.ts';

/** @throws NotTranslatable */
export function chatMessagesOf(system: DocumentNode, turns: DocumentNode): Json[] {
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

/** What a cache is to keep is the choice of OpenAI alone, so `cache_control` says nothing there. */
const withoutEffect = 'cache_control';

/** A text, or blocks of text, as a text or as several. */
function plainText(content: DocumentNode): unknown {
  return content.isText ? content.value : simplify(content.items().map(textPart));
}

/** Who speaks this format but is not OpenAI often knows one text only. */
function simplify(parts: readonly Json[]): unknown {
  return parts.length === 1 && parts[0]!.type === 'text' ? parts[0]!.text : parts;
}

function textPart(block: DocumentNode): Json {
  if (block.at('type').text() !== 'text') block.at('type').refuseUnsupported();
  return textOf(block);
}

function textOf(block: DocumentNode): Json {
  const citations = block.only('type', 'text', 'citations', withoutEffect).at('citations');
  if (!citations.isAbsent && citations.items().length > 0) citations.refuseUnsupported();
  return { type: 'text', text: block.at('text').text() };
}

/** Results of tools are messages of their own, and come first. */
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
  const source = block.only('type', 'source', withoutEffect).at('source');
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

/** The pages of a PDF; what is to be cited of it has no like. */
function filePart(block: DocumentNode): Json {
  block.only('type', 'source', 'title', 'citations', withoutEffect);
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
  block.only('type', 'tool_use_id', 'content', 'is_error', withoutEffect);
  const given = block.at('content');
  const content = given.isAbsent ? '' : plainText(given);
  return {
    role: 'tool',
    tool_call_id: block.at('tool_use_id').text(),
    content: block.at('is_error').value === true ? withErrorPrefix(content) : content,
  };
}

/** That a tool has failed can be said in words only. */
function withErrorPrefix(content: unknown): unknown {
  const word = 'Error: ';
  if (typeof content === 'string') return word + content;
  return [{ type: 'text', text: word }, ...(content as readonly Json[])];
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
      // What a model thought before an earlier answer is no part of what it is told.
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
  block.only('type', 'id', 'name', 'input', 'caller', withoutEffect);
  return {
    id: block.at('id').text(),
    type: 'function',
    function: {
      name: block.at('name').text(),
      arguments: JSON.stringify(block.at('input').json()),
    },
  };
}
