/** Marks the end of the part of a prompt that Bedrock caches. */
import type { DocumentNode, Json } from '../documents/document-node.ts';

/** The mark that follows a part with `cache_control`, an extension of Anthropic in OpenAI's format. */
export function cachePointOf(place: DocumentNode): Json[] {
  return place.at('cache_control').isAbsent ? [] : [{ cachePoint: { type: 'default' } }];
}
