/** Opens the snapshot of the process, with the bucket that the settings select. */
import type { Settings } from '../../settings.ts';
import {
  openSnapshot,
  type RunningSnapshot,
  type SnapshotParts,
} from '../../snapshot/open-snapshot.ts';
import { openBucketFolder } from './bucket-folder.ts';

type AppSnapshotParts = Omit<SnapshotParts, 'bucket' | 'settings'> & {
  readonly settings: Pick<Settings, 'snapshot' | 'blobs' | 'proxies'>;
};

/** Null when no snapshot is kept. */
export function openAppSnapshot(parts: AppSnapshotParts): RunningSnapshot | null {
  return openSnapshot({ ...parts, bucket: openBucketFolder(parts.settings, parts.clock) });
}
