/**
 * HTTP route that tells sync when API keys were last used, so that keys in use are not removed by mistake.
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { listSchema } from '../../model/wire/paging.ts';
import { formatTimestampOrNull, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { requireWholeOrganisation } from '../request/scoping.ts';

const idsMax = 200;

const UsesBody = z.object({ ids: z.array(z.uuid()).min(1).max(idsMax) });

const KeyUse = z.object({
  id: z.uuid(),
  /** Accurate to an hour; null for an unused key, or an id that is no key of the organisation. */
  last_used_at: ResponseTimestamp.nullable(),
});
type KeyUse = z.infer<typeof KeyUse>;

type UsesRequest = AdminRequest<Record<string, string>, undefined, z.infer<typeof UsesBody>>;

export function keyUseRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      method: 'POST',
      path: '/gatewright/sync/key-uses',
      mounts: { admin: ['access-token', 'session'] },
      scope: 'organisation_settings.read',
      summary: 'Get when API keys were last used',
      body: UsesBody,
      response: listSchema(KeyUse),
      handle: (request) => listUses(deps, request),
    }),
  ];
}

/** In the order of the request. */
async function listUses({ database }: AdminDeps, { caller, body }: UsesRequest) {
  requireWholeOrganisation(caller);
  const ids = body.ids.map((id) => id.toLowerCase());
  const rows = await apiKeys.listLastUsed(database.readable, caller.organisationId, ids);
  const uses = new Map(rows.map((row) => [row.id, row.last_used_at]));
  const data = ids.map(
    (id): KeyUse => ({ id, last_used_at: formatTimestampOrNull(uses.get(id) ?? null) }),
  );
  return { object: 'list' as const, total: data.length, data };
}
