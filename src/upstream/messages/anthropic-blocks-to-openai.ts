/** Translates content blocks from Anthropic's format to parts of OpenAI's. */
import type { ChatExtensions } from '../../model/services/chat-extensions.ts';
import type { DocumentNode, Json } from '../documents/document-node.ts';
import type { MemberRules } from '../documents/member-rules.ts';
import * as rules from './message-rules.ts';

/** Converts blocks to parts; kinds that may be left out are. */
export function partsOf(blocks: readonly DocumentNode[], extensions: ChatExtensions): Json[] {
  return blocks.flatMap((block) => partOf(block, extensions));
}

/** Converts a text, or blocks of text, to a text or to parts. */
export function plainText(content: DocumentNode, extensions: ChatExtensions): unknown {
  if (content.isText) return content.value;
  const parts = content.items().flatMap((block) => {
    if (block.at('type').text() === 'text') return [textPartOf(block, extensions)];
    block.at('type').dropMeaning();
    return [];
  });
  return simplify(parts);
}

/** Many compatible services accept only a plain text. */
export function simplify(parts: readonly Json[]): unknown {
  const [first] = parts;
  const isPlain = parts.length === 1 && first!.type === 'text' && !('cache_control' in first!);
  return isPlain ? first!.text : parts;
}

export function followKind(block: DocumentNode, kind: string): DocumentNode {
  return block.follow(rules.blockShape.kinds[kind] as MemberRules);
}

/** The cache mark of a place, for services that take it. */
export function cacheControlOf(place: DocumentNode, { hasCacheControl }: ChatExtensions): Json {
  const mark = place.at('cache_control');
  if (mark.isAbsent) return {};
  if (hasCacheControl) return { cache_control: mark.value };
  mark.dropHint();
  return {};
}

export function textPartOf(block: DocumentNode, extensions: ChatExtensions): Json {
  followKind(block, 'text');
  return { type: 'text', text: block.at('text').text(), ...cacheControlOf(block, extensions) };
}

function partOf(block: DocumentNode, extensions: ChatExtensions): Json[] {
  switch (block.at('type').text()) {
    case 'text':
      return [textPartOf(block, extensions)];
    case 'image':
      return imageParts(block, extensions);
    case 'document':
      return documentParts(block, extensions);
    case 'search_result':
      return [searchResultPart(block, extensions)];
    case 'tool_reference':
      followKind(block, 'tool_reference');
      return [{ type: 'text', text: `The tool ${block.at('tool_name').text()} is available.` }];
    default:
      block.dropKind(rules.blockShape);
      return [];
  }
}

function imageParts(block: DocumentNode, extensions: ChatExtensions): Json[] {
  followKind(block, 'image');
  const source = sourceOf(block);
  if (source === null) return [];
  switch (source.at('type').value) {
    case 'base64':
      return [imagePart(dataUrl(source), block, extensions)];
    case 'url':
      return [imagePart(source.at('url').text(), block, extensions)];
    default:
      source.at('type').dropMeaning();
      return [];
  }
}

function imagePart(url: string, block: DocumentNode, extensions: ChatExtensions): Json {
  return { type: 'image_url', image_url: { url }, ...cacheControlOf(block, extensions) };
}

/** Checks the members of a source; null for a kind that is left out. */
function sourceOf(block: DocumentNode): DocumentNode | null {
  const source = block.at('source');
  const kind = String(source.at('type').value);
  const ofKind = Object.hasOwn(rules.sourceShape.kinds, kind)
    ? rules.sourceShape.kinds[kind]
    : undefined;
  if (!(ofKind instanceof Map)) {
    source.at('type').dropMeaning();
    return null;
  }
  return source.follow(ofKind);
}

function dataUrl(source: DocumentNode): string {
  return `data:${source.at('media_type').text()};base64,${source.at('data').text()}`;
}

/** Converts a PDF to a file, and a text to a text. */
function documentParts(block: DocumentNode, extensions: ChatExtensions): Json[] {
  followKind(block, 'document');
  const source = sourceOf(block);
  if (source === null) return [];
  const title = block.at('title');
  const mark = cacheControlOf(block, extensions);
  switch (source.at('type').value) {
    case 'base64': {
      const filename = title.isAbsent ? 'document.pdf' : title.text();
      return [{ type: 'file', file: { filename, file_data: dataUrl(source) }, ...mark }];
    }
    case 'text':
      return [titled(title, source.at('data').text(), mark)];
    case 'content': {
      const content = source.at('content');
      if (content.isText) return [titled(title, content.text(), mark)];
      return partsOf(content.items(), extensions);
    }
    default:
      source.at('type').dropMeaning();
      return [];
  }
}

function titled(title: DocumentNode, text: string, mark: Json): Json {
  return { type: 'text', text: title.isAbsent ? text : `${title.text()}\n\n${text}`, ...mark };
}

function searchResultPart(block: DocumentNode, extensions: ChatExtensions): Json {
  followKind(block, 'search_result');
  const texts = block
    .at('content')
    .items()
    .map((part) => textPartOf(part, extensions).text as string);
  const head = `${block.at('title').text()}\n${block.at('source').text()}`;
  const text = `${head}\n\n${texts.join('\n')}`;
  return { type: 'text', text, ...cacheControlOf(block, extensions) };
}
