/** Finds the changes of an organisation that an update of the snapshot brings, so that each is measured once. */
import type { SnapshotManifest } from '../format/snapshot-documents.ts';

interface Contents {
  readonly manifest: Pick<SnapshotManifest, 'changes'>;
}

/** Times of the changes that `before` lacks; none when an older version has built it. */
export function newChanges(before: Contents | undefined, after: Contents): number[] {
  if (before !== undefined && before.manifest.changes === undefined) return [];
  const known = new Map(before?.manifest.changes?.map((one) => [one.slot, one.changedAtMs]));
  const { changes = [] } = after.manifest;
  return changes
    .filter(({ slot, changedAtMs }) => known.get(slot) !== changedAtMs)
    .map(({ changedAtMs }) => changedAtMs);
}
