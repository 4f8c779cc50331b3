/** Shared parts of the SCIM 2.0 routes: mount, credentials, errors, lists. */
import { z } from 'zod';
import { RawReply } from '../../http/routes/route.ts';
import type { Page } from '../../model/wire/paging.ts';
import { wholeNumberParameter } from '../../model/wire/paging.ts';

/** Directories send one fixed token, in `Authorization` only. */
export const scimRoute = {
  mounts: { v1: ['access-token', 'api-key', 'bearer-key'] },
  scope: 'organisation_users.update',
  errors: 'scim',
  // RFC 7644 lets clients send parameters that a server does not support.
  ignoresUnknownQuery: true,
} as const;

/** Spread into routes that delete; the response has no body. */
export const scimDeletion = {
  method: 'DELETE',
  successStatus: 204,
  response: z.object({}),
} as const;

export async function scimDeleted(removing: Promise<unknown>): Promise<RawReply> {
  await removing;
  return new RawReply(204, null);
}

/** Items on one page. */
export const resultsMax = 100;
const numberMax = 999_999_999;

/** Lists count from 1; more than {@link resultsMax} items are split into pages. */
export const ScimListQuery = z.object({
  filter: z.string().max(1024).optional(),
  startIndex: wholeNumberParameter(0, numberMax).default(1),
  count: wholeNumberParameter(0, numberMax).default(resultsMax),
  /** Comma-separated; only `members` is supported. */
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
