/** Marks the end of the part of a prompt that Bedrock caches. */
import type { DocumentNode, Json } from '../documents/document-node.ts';
import type { CachePlaces } from './model-abilities.ts';

/** The mark that follows a part with `cache_control`, an extension of Anthropic in OpenAI's format. */
export function cachePointOf(place: DocumentNode): Json[] {
  return place.at('cache_control').isAbsent ? [] : [{ cachePoint: { type: 'default' } }];
}

export const isCachePoint = (block: Json): boolean => 'cachePoint' in block;

interface MarkedRequest {
  readonly system?: readonly Json[];
  readonly messages: readonly { readonly content: readonly Json[] }[];
  readonly toolConfig?: Json;
}

/** Removes the marks that the model does not accept, each as a hint of the chat request. */
export function withoutCachePoints<Request extends MarkedRequest>(
  translated: Request,
  places: CachePlaces,
  chat: DocumentNode,
): Request {
  if (places === 'all') return translated;
  const { system, messages, toolConfig } = translated;
  const tools = (toolConfig?.tools ?? []) as readonly Json[];
  const changed: Record<string, unknown> = {};
  if (tools.some(isCachePoint)) {
    chat.at('tools').dropHint('tools[].cache_control');
    changed.toolConfig = { ...toolConfig, tools: tools.filter(isContent) };
  }
  if (places === 'prompt') return { ...translated, ...changed };
  const isMarked = messages.some(({ content }) => content.some(isCachePoint));
  if (isMarked || system?.some(isCachePoint) === true) {
    chat.at('messages').dropHint('messages[].content[].cache_control');
    changed.messages = messages.map((turn) => {
      return { ...turn, content: turn.content.filter(isContent) };
    });
    if (system !== undefined) changed.system = system.filter(isContent);
  }
  return { ...translated, ...changed };
}

const isContent = (block: Json): boolean => !isCachePoint(block);
