/** Sends the totals of a region's requests to its home, as they are now. */
import { z } from 'zod';
import type { Database } from '../store/connection/db.ts';
import * as regionHolders from '../store/regions/region-holders.ts';
import * as unsentTotals from '../store/regions/unsent-totals.ts';
import type { ControlLink } from './control-link.ts';
import { linkPaths } from './link-paths.ts';
import { TotalsRequest, totalsMax } from './totals-messages.ts';

/**
 * Sends until home has everything. Replicas may send at the same time: a message contains counts, not differences.
 *
 * @throws what the link and the database throw
 */
export async function sendTotals(
  { db }: Pick<Database, 'db'>,
  link: Pick<ControlLink, 'post'>,
  region: string,
): Promise<void> {
  for (;;) {
    const unsent = await unsentTotals.listOldest(db, totalsMax);
    if (unsent === null) return;
    const { organisationId, totals } = unsent;
    await regionHolders.insertMissing(db, organisationId);
    const row = await regionHolders.find(db, organisationId);
    const message = z.encode(TotalsRequest, { origin: row!.origin, region, totals: [...totals] });
    if (totals.length > 0) await link.post(linkPaths.totals, message);
    await unsentTotals.forget(db, unsent);
  }
}
