/** Knows a document into which the values of an environment are put, and in which variables stay as they are written. */

import type { Position } from '../resources/resource-set.ts';
import { SealedValue } from '../sops/sealed-value.ts';
import { placeKey, type Replaced } from '../yaml/place.ts';
import type { Segments } from '../yaml/yaml-position.ts';
import { type EnvironmentValues, expression, pathOf, wholeValue } from './substitute.ts';

interface WithKeptVariables extends Replaced {
  readonly value: unknown;
}

/**
 * A copy that means the same to whoever puts in the variables: what came from values is written so that
 * nothing in it is taken for a variable. A value that is not there keeps its place, with its default.
 *
 * @param at keys that lead to it
 * @param isPlain whether nothing in it stood for a variable
 */
export function keepVariables(
  document: unknown,
  at: Segments,
  values: EnvironmentValues,
  isPlain: boolean,
): WithKeptVariables {
  const places = new Map<string, (below: Segments) => Position>();
  const look = (name: string, operator: string | undefined, segments: Segments): unknown => {
    const path = pathOf(name);
    const found = values.look(path);
    if (found === undefined || (operator !== undefined && (found === null || found === ''))) {
      return undefined;
    }
    if (!values.budget.take(found)) return undefined;
    places.set(placeKey(segments), (below) => values.positionOf([...path, ...below]));
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
      // A dollar sign at its end and a brace behind it would begin a variable.
      const joint = String(found).endsWith('$') && all[from + match.length] === '{' ? '$' : '';
      return escaped(String(found)) + joint;
    });
  };
  return { value: mapTexts(document, put, at), whole: new Set(), values: places };
}

/** All texts of a document such that they stand as they are. */
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
