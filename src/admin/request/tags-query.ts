/** Knows the filter of lists whose items have tags: JSON text of an object with texts, each of which is to be there. */
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
