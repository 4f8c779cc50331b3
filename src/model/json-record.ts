/** Knows free-form JSON: values that are stored and echoed as sent. */
import { z } from 'zod';

/** An object whose keys and values are the caller's own. */
export const JsonRecord = z.record(z.string(), z.json());
export type JsonRecord = z.infer<typeof JsonRecord>;

/** Reads a document column: JSON text that this program wrote, or null. */
export function readDocument<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}

/** Writes a document column; undefined and null become null. */
export function writeDocument(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}

/** A copy without nulls. */
export function sparse(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
