/** Defines fields that several resources share: names, descriptions, workspace references. */
import { z } from 'zod';
import { described } from './described.ts';

/** Counts code points, as the database does, so an emoji counts as one. */
function atMost(codePointsMax: number): (text: string) => boolean {
  return (text) =>
    text.length <= codePointsMax ||
    // A code point has at most two UTF-16 units, so a longer text need not be counted.
    (text.length <= 2 * codePointsMax && [...text].length <= codePointsMax);
}

/** 1 to 255 code points. */
export const ResourceName = z
  .string()
  .min(1)
  .refine(atMost(255), { message: 'must have at most 255 characters' })
  .meta({ maxLength: 255, description: 'Display name.' });

/** Free text of at most `codePointsMax` code points. The API distinguishes '' and null from an absent field. */
export function freeText(codePointsMax: number): z.ZodString {
  return z
    .string()
    .refine(atMost(codePointsMax), { message: `must have at most ${codePointsMax} characters` })
    .meta({ maxLength: codePointsMax });
}

/** A boolean that clients of this API write and read as 1 or 0. */
export const Flag = z.literal([0, 1]);

/** A boolean that clients send as such or as 1 or 0. */
export const LooseFlag = z.union([z.boolean(), Flag]);

/** An action in an update, not a stored field: resets current usage to zero. */
export const ResetUsage = LooseFlag.nullable().optional();

/** Free text values by name. */
export const Tags = described(
  z.record(z.string().min(1).max(255), z.string().max(1024)).nullable().optional(),
  'Tags: text values by name.',
);

/** The stored form of a free text whose absent, null and empty values all mean no text. */
export function emptyToNull(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

/** A workspace by UUID or slug (docs/reference/access.md, Reach). */
export const WorkspaceReference = described(
  z.string().min(1).max(255),
  'Workspace by UUID or slug.',
);
