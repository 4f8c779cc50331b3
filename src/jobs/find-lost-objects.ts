/** Knows how objects are found that a provider has made while nobody heard its answer, and given to those who asked for them. */
import { type ListOf, outcomeMs, type ProviderLists } from '../objects/listed-objects.ts';
import { lookAfterMs } from '../objects/object-lifetimes.ts';
import type { ObjectKind } from '../objects/object-request.ts';
import * as ownedObjects from '../store/objects/owned-objects.ts';
import * as pendingObjects from '../store/objects/pending-objects.ts';
import type { Job, JobContext } from './runner/job.ts';

type Pending = pendingObjects.PendingObject;

const rowsMax = 1_000;
/** Lists of a run; other jobs of the process wait for it. */
const listsMax = 32;
/** Asked for at once. */
const atOnce = 8;
/** For one list, all of its pages. */
const listMs = 30_000;
const pagesMax = 100;
const hourMs = 3_600_000;
/** A provider that cannot be asked is asked again for so long. */
const giveUpMs = 24 * hourMs;
/** How wrong clocks may be before something is not looked at. */
const clockMs = 24 * hourMs;

/** What a list says of the marks that are looked for. */
interface Look {
  readonly found: ReadonlyMap<string, readonly string[]>;
  /** Whether all of it was seen that can hold them. */
  readonly isWhole: boolean;
}

interface Counts extends Record<string, number> {
  found: number;
  unfound: number;
  postponed: number;
}

export function findLostObjects(lists: ProviderLists): Job {
  return {
    name: 'find-lost-objects',
    cron: '* * * * *',
    summary:
      'Looks at providers for objects that callers had made there and whose answers were lost, and notes whose they are',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const { db, now, signal } = context;
      const counts: Counts = { found: 0, unfound: 0, postponed: 0 };
      const due = await pendingObjects.listDue(db, now, rowsMax);
      const sortOf = (row: Pending) => `${row.organisation_id} ${row.provider} ${row.kind}`;
      const groups = [...Map.groupBy(due, sortOf).values()].slice(0, listsMax);
      for (let at = 0; at < groups.length && !signal.aborted; at += atOnce) {
        const some = groups.slice(at, at + atOnce);
        const looks = await Promise.all(some.map((rows) => lookFor(context, lists, rows)));
        for (const [place, rows] of some.entries()) {
          if (signal.aborted) break;
          await settle(context, rows, looks[place]!, counts);
        }
      }
      return counts;
    },
  };
}

/** Of one list; null where it cannot be had. */
async function lookFor(
  { signal, log }: JobContext,
  lists: ProviderLists,
  rows: readonly Pending[],
): Promise<Look | null> {
  const [{ organisation_id: organisationId, provider, kind }] = rows as [Pending];
  const marked = rows.filter(({ mark }) => mark !== null);
  // Nothing is known of an account that a config names by its key.
  if (marked.length === 0 || !provider.startsWith('@')) return { found: new Map(), isWhole: true };
  const of: ListOf = { organisationId, provider, kind: kind as ObjectKind };
  const until = AbortSignal.any([signal, AbortSignal.timeout(listMs)]);
  try {
    return await lookThrough(lists.pages(of, until), marked);
  } catch (err) {
    log.warn({ err, organisationId, provider, kind }, 'a provider does not tell what it keeps');
    return null;
  }
}

async function lookThrough(
  pages: ReturnType<ProviderLists['pages']>,
  rows: readonly Pending[],
): Promise<Look> {
  const wanted = new Set(rows.map(({ mark }) => mark));
  const since = Math.min(...rows.map((row) => row.created_at)) - clockMs;
  const found = new Map<string, string[]>();
  let seen = 0;
  for await (const page of pages) {
    for (const { id, mark } of page) {
      if (mark === null || !wanted.has(mark)) continue;
      found.set(mark, [...(found.get(mark) ?? []), id]);
    }
    seen += 1;
    const isOld = page.every(({ createdAt }) => createdAt !== null && createdAt < since);
    if (isOld) return { found, isWhole: true };
    if (seen === pagesMax) return { found, isWhole: false };
  }
  return { found, isWhole: true };
}

async function settle(
  { transaction, now, log }: JobContext,
  rows: readonly Pending[],
  look: Look | null,
  counts: Counts,
): Promise<void> {
  for (const row of rows) {
    const ids = (row.mark !== null && look?.found.get(row.mark)) || [];
    const age = now - row.created_at;
    const found_at = row.found_at ?? (ids.length > 0 ? now : null);
    const isSure = found_at !== null || look?.isWhole === true || age >= giveUpMs;
    const isOver = age >= outcomeMs && isSure;
    counts.found += await transaction(async (tx) => {
      let found = 0;
      for (const id of ids) {
        const isNew = await ownedObjects.noteFound(tx, {
          ...{ organisation_id: row.organisation_id, workspace_id: row.workspace_id },
          ...{ kind: row.kind, object_id: id, provider: row.provider, deleted_at: null },
          account: row.account,
          ...{ api_key_id: row.api_key_id, created_at: row.created_at },
          look_at: now + lookAfterMs,
        });
        if (isNew) found += 1;
      }
      if (isOver) await pendingObjects.deleteById(tx, row);
      else await pendingObjects.putOff(tx, row, { look_at: nextLook(row, now), found_at });
      return found;
    });
    if (!isOver && look?.isWhole !== true) counts.postponed += 1;
    if (!isOver || found_at !== null) continue;
    counts.unfound += 1;
    const { organisation_id: organisationId, workspace_id: workspaceId, kind, provider } = row;
    const told = { organisationId, workspaceId, apiKeyId: row.api_key_id, kind, provider };
    const message = 'a provider was asked for an object, and nobody knows whether it has made one';
    log.warn({ ...told, askedAt: new Date(row.created_at).toISOString() }, message);
  }
}

/** Ever more seldom, and once more when all that can come has come. */
function nextLook({ created_at: askedAt }: Pending, now: number): number {
  const age = now - askedAt;
  return age >= outcomeMs
    ? now + hourMs
    : Math.min(now + Math.max(age, 60_000), askedAt + outcomeMs);
}
