/** Translates the messages of a chat from OpenAI's format to Anthropic's. */

import { requestedArguments } from '../documents/call-arguments.ts';
import type { DocumentNode, Json } from '../documents/document-node.ts';
import type { MemberRules } from '../documents/member-rules.ts';
import { addToTurns, type RoleTurn } from '../documents/role-turns.ts';
import { anthropicReasoning, detailsIn } from '../translation/reasoning.ts';
import * as rules from './chat-rules.ts';

export interface Conversation {
  /** Content of all `system` and `developer` messages. */
  readonly system: readonly Json[];
  readonly messages: readonly RoleTurn[];
  /** Whether the turn that continues after tool results has the thinking that Anthropic requires of it. */
  readonly canThink: boolean;
}

/** @throws NotTranslatable */
export function conversationOf(messages: DocumentNode): Conversation {
  const system: Json[] = [];
  const turns: RoleTurn[] = [];
  for (const message of messages.items()) {
    const role = message.at('role');
    switch (role.value) {
      case 'system':
      case 'developer':
        followRole(message, 'system');
        system.push(...contentOf(message, textPart));
        break;
      case 'user':
        followRole(message, 'user');
        addToTurns(turns, 'user', contentOf(message, userPart));
        break;
      case 'assistant':
        addToTurns(turns, 'assistant', assistantBlocks(message));
        break;
      case 'tool':
        followRole(message, 'tool');
        addToTurns(turns, 'user', [toolResult(message)]);
        break;
      default:
        role.text();
        role.refuseUnsupported();
    }
  }
  trimPrefill(turns.at(-1));
  return { system, messages: turns, canThink: canThink(turns) };
}

function followRole(message: DocumentNode, role: string): void {
  message.follow(rules.messageShape.kinds[role] as MemberRules);
}

/** Anthropic rejects a begun response that ends with blanks. */
function trimPrefill(last: RoleTurn | undefined): void {
  const block = last?.role === 'assistant' ? last.content.at(-1) : undefined;
  if (block?.type !== 'text') return;
  const text = (block.text as string).trimEnd();
  last!.content.pop();
  if (text !== '') last!.content.push({ ...block, text });
}

function canThink(turns: readonly RoleTurn[]): boolean {
  const last = turns.findLast(({ role }) => role === 'assistant');
  const isContinued = last?.content.some(({ type }) => type === 'tool_use') === true;
  const first = last?.content[0]?.type;
  return !isContinued || first === 'thinking' || first === 'redacted_thinking';
}

function cacheControlOf(place: DocumentNode): Json {
  const mark = place.at('cache_control');
  return mark.isAbsent ? {} : { cache_control: mark.value };
}

function contentOf(message: DocumentNode, partOf: (part: DocumentNode) => Json[]): Json[] {
  const content = message.at('content');
  if (!content.isText) return content.items().flatMap((part) => partOf(part));
  const text = content.text();
  // Anthropic rejects empty texts, so they are omitted.
  return text === '' ? [] : [{ type: 'text', text, ...cacheControlOf(message) }];
}

function textPart(part: DocumentNode): Json[] {
  if (part.at('type').text() === 'text') return [textOf(part)];
  part.dropKind(rules.partShape);
  return [];
}

function followPart(part: DocumentNode, kind: string): void {
  part.follow(rules.partShape.kinds[kind] as MemberRules);
}

function textOf(part: DocumentNode): Json {
  followPart(part, 'text');
  return { type: 'text', text: part.at('text').text(), ...cacheControlOf(part) };
}

function userPart(part: DocumentNode): Json[] {
  switch (part.at('type').text()) {
    case 'text':
      return [textOf(part)];
    case 'image_url':
      return [imageOf(part)];
    case 'file':
      return documentOf(part);
    default:
      part.dropKind(rules.partShape);
      return [];
  }
}

function imageOf(part: DocumentNode): Json {
  followPart(part, 'image_url');
  const url = part
    .at('image_url')
    .follow(rules.imageShape.kinds[''] as MemberRules)
    .at('url');
  const data = dataUrl(url.text());
  const source =
    data === null
      ? { type: 'url', url: url.value }
      : { type: 'base64', media_type: data.mediaType, data: data.base64 };
  return { type: 'image', source, ...cacheControlOf(part) };
}

/** Empty for a stored file that is left out. */
function documentOf(part: DocumentNode): Json[] {
  followPart(part, 'file');
  const file = part.at('file').follow(rules.fileShape.kinds[''] as MemberRules);
  if (file.at('file_data').isAbsent && !file.at('file_id').isAbsent) return [];
  const data = dataUrl(file.at('file_data').text());
  if (data === null || data.mediaType !== 'application/pdf') {
    return file.at('file_data').refuse('must be a data URL of a PDF for a provider of this format');
  }
  const title = file.at('filename');
  const document = {
    type: 'document',
    source: { type: 'base64', media_type: data.mediaType, data: data.base64 },
    ...(title.isAbsent ? {} : { title: title.text() }),
    ...cacheControlOf(part),
  };
  return [document];
}

/** Null for other URLs. */
function dataUrl(url: string): { readonly mediaType: string; readonly base64: string } | null {
  const head = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.+-]+)*;base64,/i.exec(url.slice(0, 256));
  if (head === null) return null;
  return { mediaType: head[1]!.toLowerCase(), base64: url.slice(head[0].length) };
}

/** Converts an earlier response of the model: reasoning, text, refusal and tool calls. */
function assistantBlocks(message: DocumentNode): Json[] {
  followRole(message, 'assistant');
  const blocks = thinkingBlocks(message);
  if (!message.at('content').isAbsent) blocks.push(...contentOf(message, assistantPart));
  const refusal = message.at('refusal');
  if (!refusal.isAbsent) blocks.push({ type: 'text', text: refusal.text() });
  const calls = message.at('tool_calls');
  if (!calls.isAbsent) blocks.push(...calls.items().flatMap(toolUse));
  return blocks;
}

/** Anthropic accepts only reasoning that it has signed. */
function thinkingBlocks(message: DocumentNode): Json[] {
  const blocks: Json[] = [];
  const list = message.at('reasoning_details');
  const details = detailsIn(list.value);
  for (const one of details) {
    const { type, text, signature, data, format } = one;
    if (format !== anthropicReasoning) continue;
    if (type === 'reasoning.encrypted') blocks.push({ type: 'redacted_thinking', data });
    else if (signature !== undefined)
      blocks.push({ type: 'thinking', thinking: text ?? '', signature });
  }
  if (details.length > blocks.length) list.dropHint();
  if (blocks.length > 0) return blocks;
  for (const name of ['reasoning_content', 'reasoning']) {
    const text = message.at(name);
    if (!text.isAbsent && text.value !== '') text.dropHint();
  }
  return blocks;
}

function assistantPart(part: DocumentNode): Json[] {
  if (part.at('type').text() !== 'refusal') return textPart(part);
  followPart(part, 'refusal');
  return [{ type: 'text', text: part.at('refusal').text() }];
}

function toolUse(call: DocumentNode): Json[] {
  const { value: type } = call.at('type');
  if (type !== 'function' && type !== 'custom') {
    call.dropKind(rules.callShape);
    return [];
  }
  call.follow(rules.callShape.kinds[type] as MemberRules);
  const called = call.at(type).only('name', type === 'custom' ? 'input' : 'arguments');
  const input =
    type === 'custom'
      ? { input: called.at('input').text() }
      : requestedArguments(called.at('arguments'));
  return [{ type: 'tool_use', id: call.at('id').text(), name: called.at('name').text(), input }];
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
          .flatMap((part) => textPart(part)),
    ...cacheControlOf(message),
  };
}
