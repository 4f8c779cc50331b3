/** Knows how it is forgotten whose objects were that providers have no more. */
import type { ProviderLists } from '../objects/listed-objects.ts';
import { lookAfterMs, passingKinds, unaskedMs } from '../objects/object-lifetimes.ts';
import type { ObjectKind } from '../objects/object-request.ts';
import * as ownedObjects from '../store/tables/owned-objects.ts';
import type { Job, JobContext } from './job.ts';

type Owned = ownedObjects.OwnedObject;

/** In one look; further ones follow while there is anything to forget. */
const rowsMax = 200;
/** Of which providers are asked in one run; other jobs of the process wait for it. */
const askedMax = 500;
/** Asked at once. */
const atOnce = 8;
const answerMs = 10_000;
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
      const silent = new Set<string>();
      let asked = 0;
      while (!signal.aborted && asked < askedMax) {
        const due = await ownedObjects.listDue(db, now, rowsMax);
        if (due.length === 0) break;
        const gone = due.filter((row) => fateUnasked(row, now) === null);
        const asking = due.filter((row) => fateUnasked(row, now) !== null);
        asked += asking.length;
        for (let at = 0; at < asking.length && !signal.aborted; at += atOnce) {
          const some = asking.slice(at, at + atOnce);
          const fates = await Promise.all(
            some.map((row) => fateOf(context, lists, row, { silent, counts })),
          );
          gone.push(...some.filter((_, place) => fates[place] === null));
        }
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
  { db, now, signal, log }: JobContext,
  lists: Pick<ProviderLists, 'has'>,
  row: Owned,
  { silent, counts }: { readonly silent: Set<string>; readonly counts: Counts },
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
  const place = `${organisationId} ${provider}`;
  try {
    if (silent.has(place)) throw new Error('it has not answered before');
    const until = AbortSignal.any([signal, AbortSignal.timeout(answerMs)]);
    const isThere = await lists.has({ organisationId, provider, kind, id }, until);
    if (!isThere) return null;
    counts.kept += 1;
    return await stays(now + lookAfterMs);
  } catch (err) {
    if (!silent.has(place)) {
      log.warn({ err, organisationId, provider, kind }, 'a provider does not tell what it keeps');
    }
    silent.add(place);
    counts.postponed += 1;
    return stays(now + dayMs);
  }
}

async function forget({ transaction }: JobContext, rows: readonly Owned[]): Promise<number> {
  let forgotten = 0;
  for (const some of Map.groupBy(rows, (row) => row.organisation_id).values()) {
    forgotten += await transaction((tx) => ownedObjects.deleteAll(tx, some));
  }
  return forgotten;
}
