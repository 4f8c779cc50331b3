/** Finds the keys that open a head, and notices a head of another deployment. */
import type { MasterKeys } from '../../auth/master-keys.ts';
import { readDeployment } from './snapshot-documents.ts';
import { openSnapshotKeys, type SnapshotKeys } from './snapshot-keys.ts';
import { SnapshotRefused } from './snapshot-refused.ts';

/**
 * Returns the held keys, for which no master key is needed, or new ones. `replaced` are held keys of another
 * deployment.
 *
 * @throws SnapshotRefused
 */
export function keysOfHead(
  sealedHead: Buffer,
  held: SnapshotKeys | null,
  masterKeys: Pick<MasterKeys, 'unwrap'>,
): { readonly keys: SnapshotKeys; readonly replaced: SnapshotKeys | null } {
  const { deploymentId, deploymentKey } = readDeployment(sealedHead);
  if (held?.deploymentId === deploymentId) return { keys: held, replaced: null };
  return { keys: openSnapshotKeys(masterKeys, deploymentKey), replaced: held };
}

export function foreignSnapshot(snapshot: SnapshotKeys, gateway: SnapshotKeys): SnapshotRefused {
  return new SnapshotRefused(
    'foreign',
    `it belongs to deployment ${snapshot.deploymentId}, and this gateway to ${gateway.deploymentId}`,
  );
}
