/** Deletes objects that no manifest names any more. */
import type { Db } from '../../store/connection/db.ts';
import * as snapshotParts from '../../store/snapshot/snapshot-parts.ts';
import type { BuilderState } from './builder-state.ts';
import type { EarlierOrganisation } from './read-organisations.ts';

/**
 * Deletes objects whose grace period has passed, except those that the published snapshot names: a builder
 * that ended between publishing and confirming left them unconfirmed.
 */
export async function collectGarbage(
  db: Db,
  state: Pick<BuilderState, 'earlier' | 'head'>,
): Promise<number> {
  const discarded = await snapshotParts.listDiscarded(db);
  if (discarded.length === 0) return 0;
  const byOrganisation = Map.groupBy(discarded, (one) => one.organisationId);
  const earlier = await state.earlier(db, [...byOrganisation.keys()]);
  const pages = state.head?.pages.flatMap((page) => page?.etag ?? []);
  let deleted = 0;
  for (const [organisationId, addresses] of byOrganisation) {
    const latest = earlier.get(organisationId);
    const named = new Set(organisationId === '' ? pages : namedBy(latest));
    const [live, unnamed] = [[], []] as [Buffer[], Buffer[]];
    for (const { etag } of addresses) {
      (named.has(etag.toString('base64url')) ? live : unnamed).push(etag);
    }
    await snapshotParts.retain(db, organisationId, live);
    if (unnamed.length === 0) continue;
    deleted += await snapshotParts.deleteDiscarded(db, organisationId, unnamed);
  }
  return deleted;
}

function namedBy(current: EarlierOrganisation | undefined): string[] {
  if (current === undefined) return [];
  return [current.entry.etag, ...current.manifest.parts.map(({ etag }) => etag)];
}
