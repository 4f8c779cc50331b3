/** Finds objects that a provider created although its response was lost, and records their owners. */

import type { ObjectKind } from '../model/endpoints/object-kind.ts';
import {
  outcomeDelayMaxMs,
  type ProviderListKey,
  type ProviderLists,
} from '../objects/listed-objects.ts';
import { checkAfterMs } from '../objects/object-lifetimes.ts';
import * as ownedObjects from '../store/objects/owned-objects.ts';
import * as pendingObjects from '../store/objects/pending-objects.ts';
import type { Job, JobContext } from './runner/job.ts';

type Pending = pendingObjects.StoredPendingObject;

const rowsMax = 1_000;
/** Maximum lists in one run; other jobs of the process wait for the run. */
const listsMax = 32;
const concurrentLists = 8;
/** Time limit for all pages of one list. */
const listMs = 30_000;
const pagesMax = 100;
const hourMs = 3_600_000;
/** An unreachable provider is tried again for this long. */
const giveUpMs = 24 * hourMs;
/** Maximum deviation of a provider's clock; older objects are not read. */
const clockDeviationMsMax = 24 * hourMs;

/** Objects of a list by the marks that are searched. */
interface SearchResult {
  readonly idsByMark: ReadonlyMap<string, readonly string[]>;
  /** Whether all pages that can contain the marks were read. */
  readonly isComplete: boolean;
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
      'Searches providers for objects whose create response was lost, and records their owners',
    feature: null,
    idleBecause: null,
    run: async (context) => {
      const { db, now, signal } = context;
      const counts: Counts = { found: 0, unfound: 0, postponed: 0 };
      const due = await pendingObjects.listDue(db, now, rowsMax);
      const listKey = (row: Pending) => `${row.organisation_id} ${row.provider} ${row.kind}`;
      const groups = [...Map.groupBy(due, listKey).values()].slice(0, listsMax);
      for (let at = 0; at < groups.length && !signal.aborted; at += concurrentLists) {
        const some = groups.slice(at, at + concurrentLists);
        const results = await Promise.all(some.map((rows) => searchList(context, lists, rows)));
        for (const [index, rows] of some.entries()) {
          if (signal.aborted) break;
          await settle(context, rows, results[index]!, counts);
        }
      }
      return counts;
    },
  };
}

/** Searches one list of a provider; null when the list is not available. */
async function searchList(
  { signal, log }: JobContext,
  lists: ProviderLists,
  rows: readonly Pending[],
): Promise<SearchResult | null> {
  const [{ organisation_id: organisationId, provider, kind }] = rows as [Pending];
  const marked = rows.filter(({ mark }) => mark !== null);
  // A config that contains the key itself names no account that could be queried.
  if (marked.length === 0 || !provider.startsWith('@')) {
    return { idsByMark: new Map(), isComplete: true };
  }
  const list: ProviderListKey = { organisationId, provider, kind: kind as ObjectKind };
  const until = AbortSignal.any([signal, AbortSignal.timeout(listMs)]);
  try {
    return await searchPages(lists.pages(list, until), marked);
  } catch (err) {
    log.warn({ err, organisationId, provider, kind }, 'a provider does not list its objects');
    return null;
  }
}

async function searchPages(
  pages: ReturnType<ProviderLists['pages']>,
  rows: readonly Pending[],
): Promise<SearchResult> {
  const marks = new Set(rows.map(({ mark }) => mark));
  const since = Math.min(...rows.map((row) => row.created_at)) - clockDeviationMsMax;
  const idsByMark = new Map<string, string[]>();
  let pagesRead = 0;
  for await (const page of pages) {
    for (const { id, mark } of page) {
      if (mark === null || !marks.has(mark)) continue;
      idsByMark.set(mark, [...(idsByMark.get(mark) ?? []), id]);
    }
    pagesRead += 1;
    const isOld = page.every(({ createdAt }) => createdAt !== null && createdAt < since);
    if (isOld) return { idsByMark, isComplete: true };
    if (pagesRead === pagesMax) return { idsByMark, isComplete: false };
  }
  return { idsByMark, isComplete: true };
}

async function settle(
  { transaction, now, log }: JobContext,
  rows: readonly Pending[],
  result: SearchResult | null,
  counts: Counts,
): Promise<void> {
  for (const row of rows) {
    const ids = (row.mark !== null && result?.idsByMark.get(row.mark)) || [];
    const age = now - row.created_at;
    const found_at = row.found_at ?? (ids.length > 0 ? now : null);
    const isCertain = found_at !== null || result?.isComplete === true || age >= giveUpMs;
    const isOver = age >= outcomeDelayMaxMs && isCertain;
    counts.found += await transaction(async (tx) => {
      let found = 0;
      for (const id of ids) {
        const isNew = await ownedObjects.noteFound(tx, {
          organisation_id: row.organisation_id,
          workspace_id: row.workspace_id,
          kind: row.kind,
          object_id: id,
          provider: row.provider,
          deleted_at: null,
          account: row.account,
          api_key_id: row.api_key_id,
          created_at: row.created_at,
          look_at: now + checkAfterMs,
        });
        if (isNew) found += 1;
      }
      if (isOver) await pendingObjects.deleteById(tx, row);
      else await pendingObjects.putOff(tx, row, { look_at: nextLook(row, now), found_at });
      return found;
    });
    if (!isOver && result?.isComplete !== true) counts.postponed += 1;
    if (!isOver || found_at !== null) continue;
    counts.unfound += 1;
    const { organisation_id: organisationId, workspace_id: workspaceId, kind, provider } = row;
    const subject = { organisationId, workspaceId, apiKeyId: row.api_key_id, kind, provider };
    const message =
      'it is unknown whether a provider created an object, because its response was lost';
    log.warn({ ...subject, requestedAt: new Date(row.created_at).toISOString() }, message);
  }
}

/** Intervals grow with the age; the last attempt follows the latest possible outcome. */
function nextLook({ created_at: requestedAt }: Pending, now: number): number {
  const age = now - requestedAt;
  return age >= outcomeDelayMaxMs
    ? now + hourMs
    : Math.min(now + Math.max(age, 60_000), requestedAt + outcomeDelayMaxMs);
}
