/** Translates system prompt and messages of Converse to the messages of a chat. */
import type { ChatExtensions } from '../../model/services/chat-extensions.ts';
import type { DocumentNode, Json } from '../documents/document-node.ts';
import { earlierReasoning, type ReasoningDetail, unpackDetails } from '../translation/reasoning.ts';
import { isOfCall, signedCalls } from '../translation/thought-signatures.ts';
import * as rules from './converse-request-rules.ts';
import { documentType } from './media-formats.ts';
import { reasoningFormat } from './reasoning.ts';

export interface ConverseTerms {
  readonly extensions: ChatExtensions;
}

/** @throws NotTranslatable */
export function chatMessagesOf(request: DocumentNode, terms: ConverseTerms): Json[] {
  const messages: Json[] = [];
  const system = request.at('system');
  if (!system.isAbsent) {
    const parts = partsOf(system.items(), terms);
    if (parts.length > 0) messages.push({ role: 'system', content: simplified(parts) });
  }
  for (const turn of request.at('messages').items()) {
    const role = turn.follow(rules.messageShape.kinds['']).at('role');
    const blocks = turn.at('content').items();
    if (role.value === 'user') messages.push(...userMessages(blocks, terms));
    else if (role.value === 'assistant') messages.push(assistantMessage(blocks, terms));
    else {
      role.text();
      role.refuseUnsupported();
    }
  }
  return messages;
}

/** The mark of the part before a cache point, where the service takes one. */
export function cacheMark(block: DocumentNode, { extensions }: ConverseTerms): Json {
  if (extensions.hasCacheControl) return { cache_control: { type: 'ephemeral' } };
  block.at('cachePoint').dropHint();
  return {};
}

/** Texts, pictures and documents; a cache point marks the part before it. */
function partsOf(blocks: readonly DocumentNode[], terms: ConverseTerms): Json[] {
  const parts: Record<string, unknown>[] = [];
  for (const block of blocks) {
    if (block.at('cachePoint').isAbsent) parts.push(...partOf(block));
    else Object.assign(parts.at(-1) ?? {}, cacheMark(block, terms));
  }
  return parts;
}

function partOf(block: DocumentNode): Json[] {
  const { text, image, document, guardContent, searchResult } = block.json();
  if (text !== undefined) return [{ type: 'text', text: block.only('text').at('text').text() }];
  if (image !== undefined) return [pictureOf(block.only('image').at('image'))];
  if (document !== undefined) return [fileOf(block.only('document').at('document'))];
  if (guardContent !== undefined) return [guardedText(block)];
  if (searchResult !== undefined) return searchParts(block.at('searchResult'));
  block.dropMeaning();
  return [];
}

/** A text that a guardrail of Bedrock would judge is a text for others. */
function guardedText(block: DocumentNode): Json {
  const text = block.only('guardContent').at('guardContent').only('text').at('text');
  return { type: 'text', text: text.only('text', 'qualifiers').at('text').text() };
}

function searchParts(result: DocumentNode): Json[] {
  result.only('source', 'title', 'content', 'citations');
  return result
    .at('content')
    .items()
    .map((part) => ({ type: 'text', text: part.only('text').at('text').text() }));
}

function pictureOf(image: DocumentNode): Json {
  image.only('format', 'source');
  const bytes = image.at('source').only('bytes').at('bytes').text();
  return {
    type: 'image_url',
    image_url: { url: `data:image/${image.at('format').text()};base64,${bytes}` },
  };
}

function fileOf(document: DocumentNode): Json {
  document.only('format', 'name', 'source', 'context', 'citations');
  for (const name of ['context', 'citations']) {
    if (!document.at(name).isAbsent) document.at(name).dropHint();
  }
  const source = document.at('source').only('bytes', 'text', 'content');
  if (!source.at('text').isAbsent) return { type: 'text', text: source.at('text').text() };
  if (!source.at('content').isAbsent) {
    const texts = source.at('content').items();
    return {
      type: 'text',
      text: texts.map((one) => one.only('text').at('text').text()).join('\n'),
    };
  }
  const format = document.at('format').isAbsent ? 'txt' : document.at('format').text();
  const type = documentType(format);
  if (type === undefined) return document.at('format').refuseUnsupported();
  const name = document.at('name').isAbsent ? 'document' : document.at('name').text();
  const data = source.at('bytes').text();
  return {
    type: 'file',
    file: { filename: `${name}.${format}`, file_data: `data:${type};base64,${data}` },
  };
}

/** A single unmarked text becomes the content itself. */
function simplified(parts: readonly Json[]): unknown {
  const [first, ...more] = parts;
  const isPlain = more.length === 0 && first?.type === 'text' && Object.keys(first).length === 2;
  return isPlain ? first.text : parts;
}

/** Results of tools become messages of their own, which come first. */
function userMessages(blocks: readonly DocumentNode[], terms: ConverseTerms): Json[] {
  const results: Json[] = [];
  const attached: Json[] = [];
  const others: DocumentNode[] = [];
  for (const block of blocks) {
    if (block.at('toolResult').isAbsent) others.push(block);
    else {
      const { message, files } = toolMessage(block.only('toolResult').at('toolResult'), terms);
      results.push(message);
      attached.push(...files);
    }
  }
  const parts = [...attached, ...partsOf(others, terms)];
  return parts.length === 0 ? results : [...results, { role: 'user', content: simplified(parts) }];
}

/** Messages of `tool` contain texts only, so that pictures and files follow in the message after them. */
function toolMessage(
  result: DocumentNode,
  terms: ConverseTerms,
): { readonly message: Json; readonly files: readonly Json[] } {
  result.follow(rules.resultShape.kinds['']);
  const id = result.at('toolUseId').text();
  const blocks = result.at('content').items();
  const parts = blocks.flatMap((block) =>
    block.at('json').isAbsent
      ? partsOf([block], terms)
      : [{ type: 'text', text: JSON.stringify(block.only('json').at('json').value) }],
  );
  const text = parts
    .filter(({ type }) => type === 'text')
    .map((part) => part.text as string)
    .join('\n');
  const others = parts.filter(({ type }) => type !== 'text');
  const content = result.at('status').value === 'error' ? `Error: ${text}` : text;
  const files =
    others.length === 0 ? [] : [{ type: 'text', text: `Result of tool call ${id}:` }, ...others];
  return { message: { role: 'tool', tool_call_id: id, content }, files };
}

function assistantMessage(blocks: readonly DocumentNode[], { extensions }: ConverseTerms): Json {
  const texts: string[] = [];
  const calls: Json[] = [];
  const details: ReasoningDetail[] = [];
  for (const block of blocks) {
    const { text, toolUse, reasoningContent, citationsContent, cachePoint } = block.json();
    if (text !== undefined) texts.push(block.only('text').at('text').text());
    else if (toolUse !== undefined) calls.push(toolCall(block.only('toolUse').at('toolUse')));
    else if (citationsContent !== undefined) texts.push(citedText(block.at('citationsContent')));
    else if (reasoningContent === undefined) {
      if (cachePoint === undefined) block.dropMeaning();
      else block.at('cachePoint').dropHint();
    } else details.push(...acceptedDetails(block.at('reasoningContent'), extensions.reasoning));
  }
  const text = texts.join('');
  return {
    role: 'assistant',
    content: calls.length > 0 && text === '' ? null : text,
    ...earlierReasoning(
      details.map((one, index) => ({ ...one, index })),
      extensions.reasoning,
    ),
    ...(calls.length === 0
      ? {}
      : { tool_calls: extensions.reasoning === 'calls' ? signedCalls(calls, details) : calls }),
  };
}

/** The reasoning that the service takes; anything else is a hint. */
function acceptedDetails(
  content: DocumentNode,
  form: ChatExtensions['reasoning'],
): readonly ReasoningDetail[] {
  const isHidden = !content.at('redactedContent').isAbsent;
  const details = form === null || (isHidden && form === 'text') ? [] : detailsOf(content);
  if (details.length === 0 || (form === 'calls' && !details.every(isOfCall))) content.dropHint();
  return details;
}

function citedText(cited: DocumentNode): string {
  const content = cited.only('content', 'citations').at('content');
  if (content.isAbsent) return '';
  return content
    .items()
    .map((part) => part.at('text').text())
    .join('');
}

/** Reasoning that Bedrock has issued, or that the gateway has packed for another family. */
function detailsOf(content: DocumentNode): readonly ReasoningDetail[] {
  content.only('reasoningText', 'redactedContent');
  const redacted = content.at('redactedContent');
  if (!redacted.isAbsent) {
    const data = redacted.text();
    return (
      unpackDetails(data, '') ?? [{ type: 'reasoning.encrypted', data, format: reasoningFormat }]
    );
  }
  const node = content.at('reasoningText').only('text', 'signature');
  const text = node.at('text').text();
  const { signature } = node.json();
  if (typeof signature !== 'string') return [{ type: 'reasoning.text', text }];
  const packed = unpackDetails(signature, text);
  if (packed === null)
    return [{ type: 'reasoning.text', text, signature, format: reasoningFormat }];
  return packed.length > 0 ? packed : [{ type: 'reasoning.text', text }];
}

function toolCall(use: DocumentNode): Json {
  use.follow(rules.useShape.kinds['']);
  const input = use.at('input');
  return {
    id: use.at('toolUseId').text(),
    type: 'function',
    function: {
      name: use.at('name').text(),
      arguments: JSON.stringify(input.isAbsent ? {} : input.json()),
    },
  };
}
