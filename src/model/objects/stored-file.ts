/** Knows what files may be called that callers keep with the gateway, and what they are for. */
import { z } from 'zod';

export const filePurposes = [
  ...(['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'] as const),
];

const expirySecondsMin = 3_600;
const expirySecondsMax = 2_592_000;
const nameCharactersMax = 255;

/** Of a name as it was sent; null where it is one. */
export function faultOfFileName(name: string): string | null {
  if (name === '' || name === '.' || name === '..') return 'must be the name of a file';
  if (name.length > nameCharactersMax) return `must have at most ${nameCharactersMax} characters`;
  if (!name.isWellFormed()) return 'must be well-formed Unicode';
  // Also what turns the direction of letters, by which a name looks like another.
  return /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069/\\]/u.test(name)
    ? 'must have no control characters and no folders'
    : null;
}

/** The parts of a form beside the file. */
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
