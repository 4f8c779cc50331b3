/** Defines the names, purposes and form fields of files that callers upload. */
import { z } from 'zod';

export const filePurposes = ['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'];

const expirySecondsMin = 3_600;
const expirySecondsMax = 2_592_000;
const nameCharactersMax = 255;

/** Returns why a file name is rejected, or null. */
export function fileNameFault(name: string): string | null {
  if (name === '' || name === '.' || name === '..') return 'must be the name of a file';
  if (name.length > nameCharactersMax) return `must have at most ${nameCharactersMax} characters`;
  if (!name.isWellFormed()) return 'must be well-formed Unicode';
  // Includes characters that reverse the text direction, which can make a name look like another.
  return /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069/\\]/u.test(name)
    ? 'must not contain control characters or slashes'
    : null;
}

/** Form fields besides the file. */
export const FileFields = z.strictObject({
  purpose: z.enum(filePurposes),
  'expires_after[anchor]': z.literal('created_at').optional(),
  'expires_after[seconds]': z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .pipe(z.int().min(expirySecondsMin).max(expirySecondsMax))
    .optional(),
});
export type FileFields = z.infer<typeof FileFields>;
