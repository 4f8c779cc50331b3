/** Finds wrapped keys that a rotation of the master key has replaced. */
import type { Db } from '../../store/connection/db.ts';
import { deploymentId } from '../../store/resources/data-keys.ts';
import * as snapshotRows from '../../store/snapshot/snapshot-rows.ts';
import type { PageEntry } from '../format/snapshot-documents.ts';
import type { BuilderState } from './builder-state.ts';
import type { HeadChange } from './publish-head.ts';

/** Organisations of one query. */
const listedMax = 2_000;

/** Wrapped keys are in the head and the pages; a rotation changes no other object. */
export async function readRewrapped(db: Db, state: BuilderState): Promise<HeadChange | null> {
  const wrapped = (await snapshotRows.listDataKeys(db, [deploymentId])).get(deploymentId)!;
  const isRewrapped = wrapped.wrapped_key !== state.deploymentKey.wrapped_key;
  state.deploymentKey = wrapped;
  const outdated = [...state.entries]
    .filter(({ masterKeyId }) => masterKeyId !== wrapped.master_key_id)
    .slice(0, listedMax);
  const keys =
    outdated.length === 0
      ? new Map()
      : await snapshotRows.listDataKeys(
          db,
          outdated.map((one) => one.organisationId),
        );
  const entries = outdated.flatMap((entry): PageEntry[] => {
    const key = keys.get(entry.organisationId);
    if (key === undefined || key.wrapped_key === entry.wrappedKey) return [];
    return [{ ...entry, wrappedKey: key.wrapped_key, masterKeyId: key.master_key_id }];
  });
  if ((!isRewrapped && entries.length === 0) || state.head === null) return null;
  const { builtAtMs, isSettled } = state.head;
  return { entries, now: builtAtMs, isSettled };
}
