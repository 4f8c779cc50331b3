/** Defines the slugs that callers choose: short names that address resources. */
import { z } from 'zod';
import { described } from './described.ts';
import { faultsOfIssues, prefixFaults } from './fault.ts';
import { isUuid } from './slug-forms.ts';
import { rejectFaults } from './validation-error.ts';

const slugLengthMax = 255;

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

/**
 * The optional `slug` field of an update body. Clients repeat the reference of the path here, so the value is
 * judged by {@link newSlug}.
 */
export const UpdatedSlug = described(
  z.string().min(1).max(slugLengthMax).optional(),
  'New short name; requests and documents with the previous one no longer find the resource.',
);

/**
 * Returns the slug that an update sets; undefined when the body sets none or repeats the reference of the
 * path.
 *
 * @throws ApiError `invalid` for a text that is no slug
 */
export function newSlug(sent: string | undefined, reference: string): string | undefined {
  if (sent === undefined || sent === reference) return undefined;
  const parsed = Slug.safeParse(sent);
  if (!parsed.success) rejectFaults(prefixFaults(['slug'], faultsOfIssues(parsed.error.issues)));
  return sent;
}
