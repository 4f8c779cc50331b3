/** Accepts the totals of requests of regions. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Route, route } from '../http/routes/route.ts';
import { changeSetBodyLimits } from '../model/json/body-limits.ts';
import type { Database } from '../store/connection/db.ts';
import * as requestTotals from '../store/logs/request-totals.ts';
import * as loggedRegions from '../store/regions/logged-regions.ts';
import { linkPaths } from './link-paths.ts';
import { TotalsRequest } from './totals-messages.ts';

const idBytes = 16;

export function totalsRoute(database: Pick<Database, 'transaction'>): Route<null> {
  return route({
    method: 'POST',
    path: linkPaths.totals,
    mounts: { root: ['none'] },
    isRepeatable: true,
    summary: 'Store totals of requests',
    body: TotalsRequest,
    bodyLimits: changeSetBodyLimits,
    response: z.strictObject({}),
    handle: async ({ body: { origin, region, totals } }) => {
      const idIn = (id: Buffer): Buffer =>
        createHash('sha256').update(origin).update(id).digest().subarray(0, idBytes);
      const byOrganisation = Map.groupBy(totals, (total) => total.organisation_id);
      for (const [organisation_id, some] of byOrganisation) {
        const last_hour = Math.max(...some.map(({ began_at }) => began_at));
        await database.transaction(async (tx) => {
          await requestTotals.putOfOther(tx, some, idIn);
          await loggedRegions.note(tx, { organisation_id, region, last_hour });
        });
      }
      return {};
    },
  });
}
