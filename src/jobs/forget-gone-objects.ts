/** Deletes the ownership records of objects that no longer exist at their providers. */

import type { ObjectKind } from '../model/endpoints/object-kind.ts';
import type { ProviderLists } from '../objects/listed-objects.ts';
import { checkAfterMs, transientKinds, uncheckedRetentionMs } from '../objects/object-lifetimes.ts';
import * as ownedObjects from '../store/objects/owned-objects.ts';
import type { Job, JobContext } from './runner/job.ts';
import { noResponse, ProviderRound, queriesMax } from './runner/provider-round.ts';

type OwnedObject = ownedObjects.OwnedObject;

/** Rows of one query; further queries follow while rows are due. */
const rowsMax = 200;
const dayMs = 86_400_000;

/** Count of the objects that still exist, in the record of the run. */
const existingCount = 'kept';

interface Counts extends Record<string, number> {
  forgotten: number;
  [existingCount]: number;
  postponed: number;
}

/** Time of the next check of a row; null for a row to delete. */
type NextCheck = number | null;

export function forgetGoneObjects(lists: Pick<ProviderLists, 'has'>): Job {
  return {
    name: 'forget-gone-objects',
    cron: '*/10 * * * *',
    summary:
      'Deletes the ownership records of objects that were deleted or have expired at their providers',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const { db, now, signal } = context;
      const counts: Counts = { forgotten: 0, [existingCount]: 0, postponed: 0 };
      const round = new ProviderRound(context, 'a provider does not list its objects');
      let queries = 0;
      while (!signal.aborted && queries < queriesMax) {
        const due = await ownedObjects.listDue(db, now, rowsMax);
        if (due.length === 0) break;
        const gone = due.filter((row) => checkWithoutQuery(row, now) === null);
        const unknown = due.filter((row) => checkWithoutQuery(row, now) !== null);
        queries += unknown.length;
        const checks = await round.each(unknown, (row) =>
          checkAtProvider(context, lists, row, { round, counts }),
        );
        gone.push(...unknown.filter((_, index) => checks[index] === null));
        counts.forgotten += await forget(context, gone);
      }
      return counts;
    },
  };
}

/** Null for a row that can be deleted without a query. */
function checkWithoutQuery({ deleted_at, kind }: OwnedObject, now: number): NextCheck {
  return deleted_at !== null || transientKinds.has(kind as ObjectKind) ? null : now;
}

/** Queries the provider; postpones the next check of a row that stays. */
async function checkAtProvider(
  { db, now }: JobContext,
  lists: Pick<ProviderLists, 'has'>,
  row: OwnedObject,
  { round, counts }: { readonly round: ProviderRound; readonly counts: Counts },
): Promise<NextCheck> {
  const { organisation_id: organisationId, provider, object_id: id, created_at } = row;
  const kind = row.kind as ObjectKind;
  const keepUntil = async (lookAt: number): Promise<NextCheck> => {
    await ownedObjects.putOff(db, row, lookAt);
    return lookAt;
  };
  if (!provider.startsWith('@')) {
    const isOld = now - created_at >= uncheckedRetentionMs;
    return isOld ? null : keepUntil(now + checkAfterMs);
  }
  const exists = await round.query(row, (until) =>
    lists.has({ organisationId, provider, kind, id }, until),
  );
  if (exists === false) return null;
  counts[exists === noResponse ? 'postponed' : existingCount] += 1;
  return keepUntil(now + (exists === noResponse ? dayMs : checkAfterMs));
}

async function forget({ transaction }: JobContext, rows: readonly OwnedObject[]): Promise<number> {
  let forgotten = 0;
  for (const group of Map.groupBy(rows, (row) => row.organisation_id).values()) {
    forgotten += await transaction((tx) => ownedObjects.deleteAll(tx, group));
  }
  return forgotten;
}
