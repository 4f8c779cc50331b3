/** Knows how it is forgotten whose objects were that providers have no more. */
import type { ProviderLists } from '../objects/listed-objects.ts';
import { lookAfterMs, passingKinds, unaskedMs } from '../objects/object-lifetimes.ts';
import type { ObjectKind } from '../objects/object-request.ts';
import * as ownedObjects from '../store/objects/owned-objects.ts';
import type { Job, JobContext } from './runner/job.ts';
import { askedMax, ProviderRound, silence } from './runner/provider-round.ts';

type Owned = ownedObjects.OwnedObject;

/** In one look; further ones follow while there is anything to forget. */
const rowsMax = 200;
const dayMs = 86_400_000;

interface Counts extends Record<string, number> {
  forgotten: number;
  kept: number;
  postponed: number;
}

/** Until when a row stays; null for one that goes. */
type Fate = number | null;

export function forgetGoneObjects(lists: Pick<ProviderLists, 'has'>): Job {
  return {
    name: 'forget-gone-objects',
    cron: '*/10 * * * *',
    summary: 'Forgets whose objects at providers were that have been deleted or have expired there',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const { db, now, signal } = context;
      const counts: Counts = { forgotten: 0, kept: 0, postponed: 0 };
      const round = new ProviderRound(context, 'a provider does not tell what it keeps');
      let asked = 0;
      while (!signal.aborted && asked < askedMax) {
        const due = await ownedObjects.listDue(db, now, rowsMax);
        if (due.length === 0) break;
        const gone = due.filter((row) => fateUnasked(row, now) === null);
        const asking = due.filter((row) => fateUnasked(row, now) !== null);
        asked += asking.length;
        const fates = await round.each(asking, (row) =>
          fateOf(context, lists, row, { round, counts }),
        );
        gone.push(...asking.filter((_, place) => fates[place] === null));
        counts.forgotten += await forget(context, gone);
      }
      return counts;
    },
  };
}

/** Null for one that goes without a question. */
function fateUnasked({ deleted_at, kind }: Owned, now: number): Fate {
  return deleted_at !== null || passingKinds.has(kind as ObjectKind) ? null : now;
}

/** What the provider says; what stays is put off. */
async function fateOf(
  { db, now }: JobContext,
  lists: Pick<ProviderLists, 'has'>,
  row: Owned,
  { round, counts }: { readonly round: ProviderRound; readonly counts: Counts },
): Promise<Fate> {
  const { organisation_id: organisationId, provider, object_id: id, created_at } = row;
  const kind = row.kind as ObjectKind;
  const stays = async (lookAt: number): Promise<Fate> => {
    await ownedObjects.putOff(db, row, lookAt);
    return lookAt;
  };
  if (!provider.startsWith('@')) {
    const isOld = now - created_at >= unaskedMs;
    return isOld ? null : stays(now + lookAfterMs);
  }
  const isThere = await round.ask(row, (until) =>
    lists.has({ organisationId, provider, kind, id }, until),
  );
  if (isThere === false) return null;
  counts[isThere === silence ? 'postponed' : 'kept'] += 1;
  return stays(now + (isThere === silence ? dayMs : lookAfterMs));
}

async function forget({ transaction }: JobContext, rows: readonly Owned[]): Promise<number> {
  let forgotten = 0;
  for (const some of Map.groupBy(rows, (row) => row.organisation_id).values()) {
    forgotten += await transaction((tx) => ownedObjects.deleteAll(tx, some));
  }
  return forgotten;
}
