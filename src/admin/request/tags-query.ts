/** Parses the tags filter of lists: JSON text of an object whose values must all match. */
import { z } from 'zod';

export const TagsQuery = z
  .string()
  .max(4096)
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue({ code: 'custom', message: 'must be a JSON object' });
      return z.NEVER;
    }
  })
  .pipe(z.record(z.string(), z.string()));
