/** Parses the query of v2 charts, whose fields are those of all analytics queries in camel case. */
import { z } from 'zod';
import { wholeNumberParameter } from '../../../model/wire/paging.ts';
import type { QueryRequest } from '../../request/frame-fields.ts';
import { requireOwnOrganisation } from '../../request/scoping.ts';
import { filterQuery } from '../analytics/request-filter.ts';

const more = {
  /** The caller's own organisation, by UUID or TSG id. */
  organisation_id: z.string().min(1).max(64).optional(),
  columns: z.string().max(1024).optional(),
  page_size: wholeNumberParameter(1, 100).default(50),
  current_page: wholeNumberParameter(0, 999_999).default(0),
};
const PlainQuery = z.object({ ...filterQuery, ...more });
export type TelemetryQuery = z.infer<typeof PlainQuery>;

const plainNames = new Map(
  Object.keys(PlainQuery.shape).map((name) => [
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    name,
  ]),
);

export const TelemetryQuery = z.object(
  Object.fromEntries(
    [...plainNames].map(([name, plain]) => [
      name,
      PlainQuery.shape[plain as keyof typeof PlainQuery.shape],
    ]),
  ),
);

/** @throws ApiError `notFound` for another organisation than the caller's */
export function plainQuery({
  caller,
  query,
}: Pick<QueryRequest<z.infer<typeof TelemetryQuery>>, 'caller' | 'query'>): TelemetryQuery {
  const fields = Object.entries(query).map(([name, value]) => [plainNames.get(name)!, value]);
  const plain = Object.fromEntries(fields) as TelemetryQuery;
  requireOwnOrganisation(caller, plain.organisation_id);
  return plain;
}
