/** Parses the query of v2 charts, whose fields are those of all analytics queries in camel case. */
import { z } from 'zod';
import { wholeNumberParameter } from '../../../model/wire/paging.ts';
import { filterQuery } from '../analytics/request-filter.ts';

const more = {
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

/** `organisationId`, which clients also send, is ignored: the organisation is the caller's own. */
export const TelemetryQuery = z.object(
  Object.fromEntries(
    [...plainNames].map(([name, plain]) => [
      name,
      PlainQuery.shape[plain as keyof typeof PlainQuery.shape],
    ]),
  ),
);

export function plainQuery(query: z.infer<typeof TelemetryQuery>): TelemetryQuery {
  const fields = Object.entries(query).map(([name, value]) => [plainNames.get(name)!, value]);
  return Object.fromEntries(fields) as TelemetryQuery;
}
