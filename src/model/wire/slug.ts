/** Defines slugs, the short names that address resources: how they are generated and what a caller may choose. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { described } from './described.ts';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const slugLengthMax = 255;
const suffixBytes = 3;

/** Whether a path or body reference is an id rather than a slug. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/** A slug chosen by the caller (docs/reference/api.md, Ids and slugs). The form of an id is rejected as ambiguous. */
export const Slug = z
  .string()
  .regex(/^[a-zA-Z0-9_-]+$/, 'must hold letters, digits, - and _ only')
  .max(slugLengthMax)
  .refine((text) => !isUuid(text), 'must not be a UUID');

/** The optional `slug` field of a create body. */
export const OptionalSlug = described(
  Slug.optional(),
  'Short name for URLs; generated from the name if omitted.',
);

/** Prefix of a resource's slugs and the length taken from its name (docs/reference/api.md, Ids and slugs). */
export interface SlugForm {
  /** Without the hyphen; '' for none. */
  readonly prefix: string;
  readonly nameLengthMax: number;
}

/**
 * Generates a slug from the prefix, the start of the slugified name and six random hex digits:
 * `pc-cencor-250449`. A name without a letter or digit yields `pc-250449`.
 */
export function makeSlug(form: SlugForm, name: string): string {
  const suffix = randomBytes(suffixBytes).toString('hex');
  const stem = slugify(name).slice(0, form.nameLengthMax).replace(/-+$/, '');
  return [form.prefix, stem, suffix].filter((part) => part !== '').join('-');
}

function slugify(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '');
}
