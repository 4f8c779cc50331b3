/** Knows the short names resources are addressed by: how they are made and what a caller may choose. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const slugLengthMax = 255;
const suffixBytes = 3;

/** Whether a path or body reference is an id and not a slug. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/** A slug chosen by the caller (docs/reference/api.md, Ids and slugs). The form of an id is refused: it would be ambiguous. */
export const Slug = z
  .string()
  .regex(/^[a-zA-Z0-9_-]+$/, 'must hold letters, digits, - and _ only')
  .max(slugLengthMax)
  .refine((text) => !isUuid(text), 'must not have the form of an id');

/** Prefix and share of the name per resource (docs/reference/api.md, Ids and slugs). */
export interface SlugForm {
  /** Without the hyphen; '' for none. */
  readonly prefix: string;
  readonly nameLengthMax: number;
}

/**
 * Makes a slug: prefix, the first characters of the slugified name, and six random hex digits, so
 * `pc-cencor-250449`. A name without a usable character yields `pc-250449`.
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
