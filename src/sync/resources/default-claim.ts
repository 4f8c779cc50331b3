/** Knows which resources are the default of their place, or are to be. */
import type { SpecJson } from './resource-set.ts';

/** A config or deployment; no other kind has such a field. */
export function claimsDefault(spec: Readonly<Record<string, SpecJson>>): boolean {
  return spec.isDefault === 1 || spec.is_default === true;
}
