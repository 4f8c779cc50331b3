/** Knows the single values that a value is made of. */
import type { Json } from '../resources/resource-set.ts';
import { isReference, isSecret } from '../resources/spec-paths.ts';

export interface Leaf {
  /** Keys that lead to it. */
  readonly segments: readonly string[];
  readonly value: Json;
}

/** Every value that holds no other, in order; what is empty is one, and so are references and secrets. */
export function leavesOf(value: Json, segments: readonly string[] = []): Leaf[] {
  if (!isNested(value)) return [{ segments, value }];
  return Object.entries(value).flatMap(([key, item]) => leavesOf(item, [...segments, key]));
}

/** Whether a value holds others. */
export function isNested(value: Json): value is Json[] | { [key: string]: Json } {
  if (typeof value !== 'object' || value === null) return false;
  return !isReference(value) && !isSecret(value) && Object.keys(value).length > 0;
}
