/** Knows free-form JSON: values that are stored and echoed as sent. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/**
 * An object whose keys and values are the caller's own. Whatever stands in it has been read as JSON
 * or by the reader of manifests, which lets nothing else pass, so it is not walked a second time.
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
 * As {@link writeDocument}, for a column that holds a document already: undefined keeps it, and a
 * value that says the same leaves its text as it is, whatever the order of keys.
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

/** A copy without nulls. */
export function sparse(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
