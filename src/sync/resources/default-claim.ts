/** Recognises resources that are, or are to be, the default of their workspace. */
import type { SpecJson } from './resource-set.ts';

/** Applies to configs and deployments; no other kind has such a field. */
export function claimsDefault(spec: Readonly<Record<string, SpecJson>>): boolean {
  return spec.isDefault === 1 || spec.is_default === true;
}
