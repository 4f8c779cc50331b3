/**
 * HTTP routes for groups of requests in the format of other gateways (docs/reference/analytics.md, Graphs
 * and groups).
 */
import { z } from 'zod';
import type { Principal } from '../../../auth/principal.ts';
import { type Route, route } from '../../../http/routes/route.ts';
import { validationError } from '../../../model/wire/validation-error.ts';
import { type AdminDeps, everyMount } from '../../request/deps.ts';
import { plainQuery, TelemetryQuery } from '../telemetry/telemetry-query.ts';
import {
  ClientGroups,
  clientGroups,
  groupings,
  isClientGroup,
  listGroups,
  PlacedGroupQuery,
  pageOfGroups,
} from './client-groups.ts';
import { MetadataKey } from './request-filter.ts';
import { openRequestQueries } from './request-queries.ts';
import { centsOf } from './sums-figures.ts';

const Users = z.object({
  success: z.literal(true),
  data: z.object({
    records: z.array(z.object({ _user: z.string(), count: z.int(), cost: z.number() })),
    total: z.int(),
    isQuotaExceeded: z.literal(false),
  }),
});

export function requestGroupRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: everyMount,
      method: 'GET',
      path: '/analytics/groups/metadata/:key',
      scope: 'analytics.view',
      summary: 'Sum up model requests by a metadata value',
      params: z.object({ key: MetadataKey }),
      query: PlacedGroupQuery,
      response: ClientGroups,
      handle: async (request) => {
        const { params, query } = request;
        const questions = await openRequestQueries(deps, request, query, 'may be left out');
        return listGroups(questions, [{ metadata: params.key }, 'metadata_value'], query);
      },
    }),
    route({
      mounts: { v2: ['access-token', 'session'] },
      method: 'GET',
      path: '/logs/groups/users',
      scope: 'analytics.view',
      summary: 'Count the requests of a workspace by user',
      query: TelemetryQuery,
      response: Users,
      refusals: ['unplaced'],
      handle: async (request) => {
        const query = plainQuery(request);
        const questions = await openRequestQueries(deps, request, query, 'must be named');
        const { rows, total } = await pageOfGroups(questions, { metadata: '_user' }, query);
        const records = rows.map((sums) => ({
          _user: String(sums.shared[0] ?? ''),
          count: sums.requests,
          cost: centsOf(sums),
        }));
        return {
          success: true as const,
          data: { records, total, isQuotaExceeded: false as const },
        };
      },
    }),
    route({
      mounts: { v2: ['access-token', 'session'] },
      method: 'GET',
      path: '/logs/groups/:dimension',
      scope: 'analytics.view',
      summary: 'Sum up the requests of a workspace by group',
      params: z.object({ dimension: z.string().max(64) }),
      query: TelemetryQuery,
      response: ClientGroups,
      refusals: ['unplaced'],
      handle: async (request) => {
        const { dimension } = request.params;
        const query = plainQuery(request);
        if (!isClientGroup(dimension)) {
          const message = `must be one of ${clientGroups.join(', ')}`;
          throw validationError({ path: ['dimension'], message });
        }
        const questions = await openRequestQueries(deps, request, query, 'must be named');
        const columns = query.columns ?? '';
        return listGroups(questions, groupings[dimension], { ...query, columns });
      },
    }),
  ];
}
