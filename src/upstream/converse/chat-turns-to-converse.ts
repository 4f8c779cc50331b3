/** Translates the messages of a chat from OpenAI's format to Converse of Amazon Bedrock. */

import { requestedArguments } from '../documents/call-arguments.ts';
import type { DocumentNode, Json } from '../documents/document-node.ts';
import { addToTurns, type RoleTurn } from '../documents/role-turns.ts';
import { cachePointOf, isCachePoint } from './cache-point.ts';
import * as rules from './chat-to-converse-rules.ts';
import { documentFormats } from './media-formats.ts';
import { isOwnReasoning } from './reasoning.ts';

interface ConverseTurns {
  /** Blocks of all `system` and `developer` messages. */
  readonly system: readonly Json[];
  readonly messages: readonly RoleTurn[];
}

/** @throws NotTranslatable */
export function converseTurns(messages: DocumentNode): ConverseTurns {
  const system: Json[] = [];
  const turns: RoleTurn[] = [];
  for (const message of messages.items()) {
    const role = message.at('role');
    switch (role.value) {
      case 'system':
      case 'developer':
        message.follow(rules.messageShape.kinds.system);
        system.push(...contentOf(message, textBlock));
        break;
      case 'user':
        message.follow(rules.messageShape.kinds.user);
        addToTurns(turns, 'user', contentOf(message, userBlock));
        break;
      case 'assistant':
        addToTurns(turns, 'assistant', assistantBlocks(message));
        break;
      case 'tool':
        message.follow(rules.messageShape.kinds.tool);
        addToTurns(turns, 'user', toolResult(message));
        break;
      default:
        role.text();
        role.refuseUnsupported();
    }
  }
  return { system, messages: turns };
}

function contentOf(message: DocumentNode, blocksOf: (part: DocumentNode) => Json[]): Json[] {
  const content = message.at('content');
  if (content.isAbsent) return [];
  if (!content.isText) return content.items().flatMap((part) => blocksOf(part));
  // Bedrock refuses empty texts.
  const text = content.text();
  return text === '' ? [] : [{ text }, ...cachePointOf(message)];
}

function textBlock(part: DocumentNode): Json[] {
  const type = part.at('type').text();
  if (type === 'refusal') {
    return [{ text: part.follow(rules.partShape.kinds.refusal).at('refusal').text() }];
  }
  if (type !== 'text') {
    part.dropKind(rules.partShape);
    return [];
  }
  part.follow(rules.partShape.kinds.text);
  const text = part.at('text').text();
  return text === '' ? [] : [{ text }, ...cachePointOf(part)];
}

function userBlock(part: DocumentNode): Json[] {
  switch (part.at('type').text()) {
    case 'image_url':
      return [imageOf(part), ...cachePointOf(part)];
    case 'file':
      return [documentOf(part), ...cachePointOf(part)];
    default:
      return textBlock(part);
  }
}

function imageOf(part: DocumentNode): Json {
  const image = part.follow(rules.partShape.kinds.image_url).at('image_url');
  const url = image.follow(rules.imageShape.kinds['']).at('url');
  const data = dataUrl(url.text());
  if (data === null) return url.refuse('must be a data URL for a provider of this format');
  const [kind, format = ''] = data.mediaType.split('/');
  if (kind !== 'image') url.refuse('must be a data URL of an image');
  return { image: { format, source: { bytes: data.base64 } } };
}

function documentOf(part: DocumentNode): Json {
  const { file: ofPart } = rules.partShape.kinds;
  const file = part.follow(ofPart).at('file').follow(rules.fileShape.kinds['']);
  const data = dataUrl(file.at('file_data').text());
  const format = documentFormats.get(data?.mediaType ?? '');
  if (data === null || format === undefined) {
    return file.at('file_data').refuse('must be a data URL of a document that Bedrock reads');
  }
  const { filename = 'document' } = file.json();
  // Bedrock accepts only some characters in names.
  const name = String(filename)
    .replace(/\.\w+$/, '')
    .replaceAll(/[^\w\s()[\]-]+/g, ' ');
  return { document: { format, name: name.trim() || 'document', source: { bytes: data.base64 } } };
}

/** Null for other URLs. */
function dataUrl(url: string): { readonly mediaType: string; readonly base64: string } | null {
  const head = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.+-]+)*;base64,/i.exec(url.slice(0, 256));
  if (head === null) return null;
  return { mediaType: head[1]!.toLowerCase(), base64: url.slice(head[0].length) };
}

function assistantBlocks(message: DocumentNode): Json[] {
  message.follow(rules.messageShape.kinds.assistant);
  const calls = message.at('tool_calls');
  const refusal = message.at('refusal');
  return [
    ...reasoningBlocks(message),
    ...contentOf(message, textBlock),
    ...(refusal.isAbsent ? [] : [{ text: refusal.text() }]),
    ...(calls.isAbsent ? [] : calls.items().flatMap(toolUse)),
  ];
}

/** Returns only what Bedrock itself has issued, because it verifies the signatures. */
function reasoningBlocks(message: DocumentNode): Json[] {
  const details = message.at('reasoning_details');
  if (details.isAbsent) {
    for (const name of ['reasoning', 'reasoning_content']) {
      const text = message.at(name);
      if (!text.isAbsent && text.value !== '') text.dropHint();
    }
    return [];
  }
  return details.items().flatMap((detail): Json[] => {
    if (!isOwnReasoning(detail.at('format').value)) {
      detail.dropHint();
      return [];
    }
    const { type, text, signature, data } = detail.json();
    if (type === 'reasoning.encrypted') return [{ reasoningContent: { redactedContent: data } }];
    if (type !== 'reasoning.text') return [];
    const signed = (signature ?? null) === null ? {} : { signature };
    return [{ reasoningContent: { reasoningText: { text, ...signed } } }];
  });
}

/** Empty for a call that is left out. */
function toolUse(call: DocumentNode): Json[] {
  if (call.at('type').value !== 'function') {
    call.dropKind(rules.callShape);
    return [];
  }
  const called = call.follow(rules.callShape.kinds.function).at('function');
  called.only('name', 'arguments');
  const use = {
    toolUseId: call.at('id').text(),
    name: called.at('name').text(),
    input: requestedArguments(called.at('arguments')),
  };
  return [{ toolUse: use }];
}

/** A result has no marks of the cache inside; one of its parts marks the whole result. */
function toolResult(message: DocumentNode): Json[] {
  const content = message.at('content');
  const blocks = content.isText ? [{ text: content.text() }] : content.items().flatMap(userBlock);
  const marks = [...blocks.filter(isCachePoint), ...cachePointOf(message)].slice(0, 1);
  const toolUseId = message.at('tool_call_id').text();
  const inside = blocks.filter((block) => !isCachePoint(block));
  return [{ toolResult: { toolUseId, content: inside } }, ...marks];
}
