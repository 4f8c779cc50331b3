/** Knows what the routes of SCIM 2.0 have in common: mount, credentials, errors, lists. */
import { z } from 'zod';
import type { Page } from '../../model/paging.ts';
import { wholeNumber } from '../../model/paging.ts';

/** Directories send one fixed token, and nothing but `Authorization`. */
export const scimRoute = {
  mounts: { v1: ['access-token', 'api-key', 'bearer-key'] },
  scope: 'organisation_users.update',
  errors: 'scim',
} as const;

/** Of one page. */
export const resultsMax = 100;
const numberMax = 999_999_999;

/** Lists count from 1; more than {@link resultsMax} are answered on several pages. */
export const ScimListQuery = z.object({
  filter: z.string().max(1024).optional(),
  startIndex: wholeNumber(0, numberMax).default(1),
  count: wholeNumber(0, numberMax).default(resultsMax),
  /** Comma-separated; `members` is the one that is heeded. */
  excludedAttributes: z.string().max(1024).optional(),
});
export type ScimListQuery = z.infer<typeof ScimListQuery>;

export const ScimItemQuery = ScimListQuery.pick({ excludedAttributes: true });

export function pageOfScim({ startIndex, count }: ScimListQuery): Page {
  return { limit: Math.min(count, resultsMax), offset: Math.max(startIndex - 1, 0) };
}

export function scimListOf<T extends z.ZodType>(item: T) {
  return z.object({
    schemas: z.array(z.string()),
    totalResults: z.int().min(0),
    startIndex: z.int().min(1),
    itemsPerPage: z.int().min(0),
    Resources: z.array(item),
  });
}

export function scimList<T>(items: T[], page: Page, total: number) {
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: total,
    startIndex: page.offset + 1,
    itemsPerPage: items.length,
    Resources: items,
  };
}
