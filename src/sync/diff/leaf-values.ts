/** Lists the single values that a JSON value consists of. */
import type { SpecJson } from '../resources/resource-set.ts';
import { isReference, isSecret } from '../resources/spec-paths.ts';

export interface LeafValue {
  /** Path of the value. */
  readonly segments: readonly string[];
  readonly value: SpecJson;
}

/**
 * Returns every value without children, in order, including empty containers, references and
 * secrets.
 */
export function leafValues(value: SpecJson, segments: readonly string[] = []): LeafValue[] {
  if (!isNested(value)) return [{ segments, value }];
  return Object.entries(value).flatMap(([key, item]) => leafValues(item, [...segments, key]));
}

/** Returns whether a value contains others. */
export function isNested(value: SpecJson): value is SpecJson[] | { [key: string]: SpecJson } {
  if (typeof value !== 'object' || value === null) return false;
  return !isReference(value) && !isSecret(value) && Object.keys(value).length > 0;
}
