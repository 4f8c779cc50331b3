/** Encodes and parses the cursor of log pages: time and id of the last row. */
import { idFromBytes, idToBytes } from '../../model/wire/ids.ts';
import { isUuid } from '../../model/wire/slug-forms.ts';
import { validationError } from '../../model/wire/validation-error.ts';

interface LogPosition {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly id: Buffer;
}

export function cursorOf(at: number, id: Buffer): string {
  return `${at}_${idFromBytes(id)}`;
}

/** Null for the first page. @throws ApiError `invalid` for a malformed cursor */
export function parseCursor(cursor: string | undefined): LogPosition | null {
  if (cursor === undefined) return null;
  const [at = '', id = ''] = cursor.split('_');
  if (/^\d{1,15}$/.test(at) && isUuid(id)) return { at: Number(at), id: idToBytes(id) };
  throw validationError({ path: ['cursor'], message: 'must be the next_cursor of a page' });
}
