/** Knows the fields that bodies of several resources share: names, descriptions, workspace references. */
import { z } from 'zod';
import { described } from './described.ts';

/** Counts code points, as the database does, so that an emoji is one. */
function atMost(codePointsMax: number): (text: string) => boolean {
  return (text) =>
    text.length <= codePointsMax ||
    // Two units at most make a code point; a longer text is not worth counting.
    (text.length <= 2 * codePointsMax && [...text].length <= codePointsMax);
}

/** 1 to 255 code points. */
export const ResourceName = z
  .string()
  .min(1)
  .refine(atMost(255), { message: 'must have at most 255 characters' })
  .meta({ maxLength: 255, description: 'Name that people see.' });

/** Free text of at most `codePointsMax` code points; the API keeps '' and null apart from absent. */
export function freeText(codePointsMax: number): z.ZodString {
  return z
    .string()
    .refine(atMost(codePointsMax), { message: `must have at most ${codePointsMax} characters` })
    .meta({ maxLength: codePointsMax });
}

/** A yes or no that clients of this API write and read as 1 or 0. */
export const Flag = z.literal([0, 1]);

/** What is stored of free text where nothing sent, null and '' are all no text. */
export function emptyToNull(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

/** A workspace by UUID or slug (docs/reference/access.md, Reach). */
export const WorkspaceReference = described(
  z.string().min(1).max(255),
  'Workspace by UUID or slug.',
);
