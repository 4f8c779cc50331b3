/** Defines when stored references to provider objects are checked, and which objects expire on their own. */
import type { ObjectKind } from '../model/endpoints/object-kind.ts';

const msPerDay = 86_400_000;

/** Providers retain expiring objects for thirty days at most. */
export const checkAfterMs = 31 * msPerDay;
/** Retention of deleted references, so that searches for lost objects do not find them again. */
export const deletedRetentionMs = 2 * msPerDay;
/** Retention for accounts that a config addresses by key, because they cannot be queried later. */
export const uncheckedRetentionMs = 366 * msPerDay;

/** Kinds that have expired by then, or that the list of their parent returns again. */
export const transientKinds: ReadonlySet<ObjectKind> = new Set([
  'items',
  'audio',
  'messages',
  'containers',
  'uploads',
]);
