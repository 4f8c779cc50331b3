/** Compares two definitions field by field, for people who decide whether to approve the newer one. */
import { isObject } from '../json/read-object.ts';
import { visibleText } from './visible-text.ts';

/** One value that differs, as bounded text with hidden characters escaped. */
export interface DefinitionChange {
  /** Such as `inputSchema.properties.path.description`. */
  readonly field: string;
  /** JSON; null when the value is not there. */
  readonly from: string | null;
  readonly to: string | null;
}

const changesMax = 20;
const valueCharsMax = 200;
const fieldCharsMax = 120;

/** `text` is canonical JSON; null for a definition that is not there, whose fields are then all added or removed. */
export function definitionChanges(from: string | null, to: string | null): DefinitionChange[] {
  const changes: DefinitionChange[] = [];
  compare([], read(from), read(to), changes);
  return changes.slice(0, changesMax);
}

/** `description: "old" → "new"`. */
export function changeText({ field, from, to }: DefinitionChange): string {
  if (from === null) return `+ ${field}: ${to}`;
  return to === null ? `- ${field}: ${from}` : `~ ${field}: ${from} → ${to}`;
}

function read(text: string | null): unknown {
  return text === null ? {} : JSON.parse(text);
}

function compare(
  path: readonly string[],
  from: unknown,
  to: unknown,
  changes: DefinitionChange[],
): void {
  if (changes.length >= changesMax) return;
  const isBranch = (isObject(from) && isObject(to)) || (Array.isArray(from) && Array.isArray(to));
  if (isBranch) {
    const old = from as Record<string, unknown>;
    const next = to as Record<string, unknown>;
    for (const key of new Set([...Object.keys(old), ...Object.keys(next)])) {
      compare([...path, key], old[key], next[key], changes);
    }
    return;
  }
  const [one, two] = [valueText(from), valueText(to)];
  if (JSON.stringify(from) === JSON.stringify(to)) return;
  changes.push({ field: visibleText(path.join('.'), fieldCharsMax), from: one, to: two });
}

function valueText(value: unknown): string | null {
  return value === undefined ? null : visibleText(JSON.stringify(value), valueCharsMax);
}
