/** Generates slugs, and tells them from ids; without schemas, which take time to create. */
import { randomBytes } from 'node:crypto';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const suffixBytes = 3;

/** Whether a path or body reference is an id rather than a slug. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

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
  return [...stemOf(form, name), suffix].join('-');
}

/** Returns whether {@link makeSlug} may have generated a slug. */
export function isGeneratedSlug(form: SlugForm, name: string, slug: string): boolean {
  const stem = stemOf(form, name).map((part) => `${part}-`);
  return /^[0-9a-f]{6}$/.test(slug.slice(-6)) && slug.slice(0, -6) === stem.join('');
}

/** Returns the parts before the random digits. */
function stemOf({ prefix, nameLengthMax }: SlugForm, name: string): string[] {
  const stem = slugify(name).slice(0, nameLengthMax).replace(/-+$/, '');
  return [prefix, stem].filter((part) => part !== '');
}

function slugify(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '');
}
