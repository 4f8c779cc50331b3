/** Distinguishes ids and slugs in references. */
import { isUuid } from '../../model/wire/slug-forms.ts';

/** The column and value by which a referenced resource is found. */
export interface IdOrSlug {
  readonly column: 'id' | 'slug';
  /** In the stored form: ids in lower case. */
  readonly value: string;
}

/** Both columns are ASCII. A text that is neither an id nor a slug becomes '', which matches no row. */
export function readReference(text: string): IdOrSlug {
  if (isUuid(text)) return { column: 'id', value: text.toLowerCase() };
  return { column: 'slug', value: /^[a-zA-Z0-9_-]+$/.test(text) ? text : '' };
}
