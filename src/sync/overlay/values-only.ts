/** Puts the values of an environment into a document and leaves variables as they are written. */

import type { Position } from '../resources/resource-set.ts';
import { SealedValue } from '../sops/sealed-value.ts';
import { pathKey, type VariableReplacements } from '../yaml/source-place.ts';
import type { Segments } from '../yaml/yaml-position.ts';
import { type EnvironmentValues, expression, valuePathOf, wholeValue } from './substitute.ts';

interface ValuesSubstituted extends VariableReplacements {
  readonly value: unknown;
}

/**
 * Returns a copy with the same meaning after variable substitution: text from values is escaped so
 * that nothing in it is read as a variable. A missing value stays as written, with its default.
 *
 * @param at path of the document
 * @param isPlain whether nothing in it is read as a variable
 */
export function substituteValuesOnly(
  document: unknown,
  at: Segments,
  values: EnvironmentValues,
  isPlain: boolean,
): ValuesSubstituted {
  const places = new Map<string, (below: Segments) => Position>();
  const look = (name: string, operator: string | undefined, segments: Segments): unknown => {
    const path = valuePathOf(name);
    const found = values.look(path);
    if (found === undefined || (operator !== undefined && (found === null || found === ''))) {
      return undefined;
    }
    if (!values.budget.take(found)) return undefined;
    places.set(pathKey(segments), (below) => values.positionOf([...path, ...below]));
    return found;
  };
  const put = (text: string, segments: Segments): unknown => {
    if (isPlain) return escaped(text);
    const [, whole, wholeOperator] = wholeValue.exec(text) ?? [];
    if (whole !== undefined) {
      const found = look(whole, wholeOperator, segments);
      return found === undefined ? text : mapTexts(found, escaped, segments);
    }
    return text.replace(expression, (match, name?: string, operator?: string, ...rest) => {
      if (name?.includes('.') !== true) return match;
      const found = look(name, operator, segments);
      if (found === undefined) return match;
      const [, from, all] = rest as [unknown, number, string];
      // A trailing dollar sign followed by a brace would start a variable.
      const joint = String(found).endsWith('$') && all[from + match.length] === '{' ? '$' : '';
      return escaped(String(found)) + joint;
    });
  };
  return { value: mapTexts(document, put, at), whole: new Set(), values: places };
}

/** Escapes all texts of a document, so that they are read literally. */
export function escapedTexts(document: unknown): unknown {
  return mapTexts(document, escaped, []);
}

function escaped(text: string): string {
  return text.replaceAll('${', () => '$${');
}

function mapTexts(
  value: unknown,
  change: (text: string, segments: Segments) => unknown,
  segments: Segments,
): unknown {
  if (typeof value === 'string') return value.includes('${') ? change(value, segments) : value;
  if (Array.isArray(value)) {
    return value.map((item, at) => mapTexts(item, change, [...segments, `${at}`]));
  }
  if (typeof value !== 'object' || value === null || value instanceof SealedValue) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapTexts(item, change, [...segments, key])]),
  );
}
