/** Defines free-form JSON objects, and reads and writes their database columns. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/**
 * An object whose keys and values the caller chooses. Its values are not validated again: the JSON
 * parser or the manifest reader, which accepts JSON values only, has produced them.
 */
export const JsonRecord = z.record(z.string(), z.unknown() as z.ZodType<z.core.util.JSONType>);
export type JsonRecord = z.infer<typeof JsonRecord>;

/** Reads a document column: JSON text that this program wrote, or null. */
export function readDocument<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}

/** Writes a document column; undefined and null become null. */
export function writeDocument(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}

/**
 * Returns the new text of a document column. Undefined leaves the stored text as it is, and so does a
 * value that equals the stored one apart from the order of keys.
 */
export function rewriteDocument(stored: string, value: object | undefined): string;
export function rewriteDocument(
  stored: string | null,
  value: object | null | undefined,
): string | null;
export function rewriteDocument(
  stored: string | null,
  value: object | null | undefined,
): string | null {
  const text = value === undefined ? stored : writeDocument(value);
  return isDeepStrictEqual(readDocument(stored), readDocument(text)) ? stored : text;
}

/** Returns a copy without the fields that are null. */
export function omitNulls(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
