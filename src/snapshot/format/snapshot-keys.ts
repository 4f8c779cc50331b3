/** Derives the keys that seal a snapshot from wrapped data keys, which travel in it. */
import { createSecretKey, type KeyObject } from 'node:crypto';
import { type MasterKeys, MissingMasterKey } from '../../auth/master-keys.ts';
import { deriveKey } from '../../auth/sealing.ts';
import type { DataKeyRow } from '../../store/resources/data-keys.ts';
import { SnapshotRefused } from './snapshot-refused.ts';

/** Keys of one deployment. */
export interface SnapshotKeys {
  /** Derived from the key of the deployment, which no rotation changes; reveals nothing of it. */
  readonly deploymentId: string;
  /** Seals heads, pages, manifests and digests of API keys. */
  readonly deploymentKey: KeyObject;
  /** Seals the rows of an organisation. @throws SnapshotRefused */
  organisationKey(dataKey: DataKeyRow): KeyObject;
}

const keysMax = 10_000;

/** @throws SnapshotRefused when the master key is missing or the wrapped key was altered */
export function openSnapshotKeys(
  masterKeys: Pick<MasterKeys, 'unwrap'>,
  wrapped: DataKeyRow,
): SnapshotKeys {
  const deployment = unwrap(masterKeys, wrapped);
  /** By wrapped key, so that a rotation is followed. */
  const opened = new Map<string, KeyObject>();
  return {
    deploymentId: deriveKey(deployment, 'deployment-id').toString('hex', 0, 8),
    deploymentKey: createSecretKey(deriveKey(deployment, 'snapshot')),
    organisationKey: (dataKey) => {
      const cached = opened.get(dataKey.wrapped_key);
      if (cached !== undefined) return cached;
      const key = createSecretKey(deriveKey(unwrap(masterKeys, dataKey), 'snapshot'));
      if (opened.size === keysMax) opened.delete(opened.keys().next().value!);
      opened.set(dataKey.wrapped_key, key);
      return key;
    },
  };
}

function unwrap(masterKeys: Pick<MasterKeys, 'unwrap'>, wrapped: DataKeyRow): Buffer {
  try {
    return masterKeys.unwrap(wrapped.wrapped_key, wrapped.organisation_id);
  } catch (cause) {
    if (cause instanceof MissingMasterKey) {
      throw new SnapshotRefused('locked', cause.message, { cause });
    }
    throw new SnapshotRefused('altered', 'a wrapped data key was altered', { cause });
  }
}
