/** Knows how a text that is either an id or a slug is looked up. */
import { isUuid } from '../../model/wire/slug.ts';

/** Where a resource is found that a caller names by id or slug. */
export interface Reference {
  readonly column: 'id' | 'slug';
  /** As stored: ids in lower case. */
  readonly value: string;
}

/** Both columns are ASCII; a text that is neither an id nor a slug finds nothing. */
export function readReference(text: string): Reference {
  if (isUuid(text)) return { column: 'id', value: text.toLowerCase() };
  return { column: 'slug', value: /^[a-zA-Z0-9_-]+$/.test(text) ? text : '' };
}
