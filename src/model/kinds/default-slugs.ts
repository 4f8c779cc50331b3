/** Derives the slug of a declared resource from the name of its manifest. */
import { isGeneratedSlug, isUuid } from '../wire/slug-forms.ts';
import type { KindName } from './kinds.ts';

/** Kinds whose slug defaults to the name of the manifest; others get a slug with random digits. */
const kindsWithDefaultSlug: ReadonlySet<KindName> = new Set(['Config', 'Integration', 'Provider']);
const slugLengthMax = 255;
const generatedForm = { prefix: '', nameLengthMax: 40 };

export function hasDefaultSlug(kind: KindName): boolean {
  return kindsWithDefaultSlug.has(kind);
}

/** Returns the default slug of a manifest; slugs have no dots. */
export function defaultSlug(name: string): string {
  const slug = name.replaceAll('.', '-').slice(0, slugLengthMax);
  return isUuid(slug) ? `n-${slug}` : slug;
}

/** Returns the first default slug that is free: the name, the name and workspace, or these and a number. */
export function freeDefaultSlug(
  name: string,
  workspace: string | null,
  isTaken: (slug: string) => boolean,
): string {
  const plain = defaultSlug(name);
  if (!isTaken(plain)) return plain;
  const stem = workspace === null ? plain : `${plain}-${defaultSlug(workspace)}`.slice(0, 240);
  if (!isTaken(stem)) return stem;
  for (let number = 2; ; number += 1) {
    if (!isTaken(`${stem}-${number}`)) return `${stem}-${number}`;
  }
}

/** Returns whether an earlier version may have generated this slug for a provider from its display name. */
export function isGeneratedProviderSlug(slug: string, displayName: string): boolean {
  return isGeneratedSlug(generatedForm, displayName, slug);
}
