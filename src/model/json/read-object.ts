/** Recognises JSON objects, and reads texts that may be JSON. */
import { isRawJSON } from './raw-json.ts';

/** Whether a value is an object, and neither a list nor null nor a number with all its digits. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJSON(value);
}

/** Undefined for invalid JSON. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Null for invalid JSON and for any other value. */
export function readJsonObject(text: string): Record<string, unknown> | null {
  const value = readJson(text);
  return isObject(value) ? value : null;
}
