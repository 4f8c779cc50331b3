/** Accepts the caller's organisation in the query of reads and deletes, where older clients send it. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import { requireOwnOrganisation } from './scoping.ts';

const OrganisationQuery = z.object({
  /** The caller's own organisation, by UUID or TSG id. */
  organisation_id: z.string().min(1).max(64).optional(),
});
type OrganisationQuery = z.infer<typeof OrganisationQuery>;

/** Adds the query parameter to the reads and deletes of `/v1` and `/v2` that do not define it. */
export function acceptOrganisationInQuery(route: Route<Principal>): Route<Principal> {
  const { method, mounts, query, scope, errors, handle } = route;
  if (!['GET', 'DELETE'].includes(method) || scope === undefined || errors === 'scim') return route;
  if ((mounts.v1 ?? mounts.v2) === undefined) return route;
  if (query !== undefined && !(query instanceof z.ZodObject)) return route;
  if (query !== undefined && Object.hasOwn(query.shape, 'organisation_id')) return route;
  return {
    ...route,
    query: query?.extend(OrganisationQuery.shape) ?? OrganisationQuery,
    handle: (request) => {
      const { organisation_id, ...others } = request.query as OrganisationQuery;
      requireOwnOrganisation(request.caller, organisation_id);
      return handle({ ...request, query: query === undefined ? undefined : others });
    },
  };
}
