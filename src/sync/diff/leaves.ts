/** Lists the single values that a JSON value consists of. */
import type { Json } from '../resources/resource-set.ts';
import { isReference, isSecret } from '../resources/spec-paths.ts';

export interface Leaf {
  /** Path of the value. */
  readonly segments: readonly string[];
  readonly value: Json;
}

/**
 * Returns every value without children, in order, including empty containers, references and
 * secrets.
 */
export function leavesOf(value: Json, segments: readonly string[] = []): Leaf[] {
  if (!isNested(value)) return [{ segments, value }];
  return Object.entries(value).flatMap(([key, item]) => leavesOf(item, [...segments, key]));
}

/** Returns whether a value contains others. */
export function isNested(value: Json): value is Json[] | { [key: string]: Json } {
  if (typeof value !== 'object' || value === null) return false;
  return !isReference(value) && !isSecret(value) && Object.keys(value).length > 0;
}
