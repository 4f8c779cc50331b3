/** Converts the rotation columns of keys and service accounts for the snapshot and for manifests. */
import type { SnapshotResource } from '../../model/kinds/snapshot.ts';
import { hasPeriod, type RotationPolicy } from '../../model/people/api-key.ts';
import { omitNulls, readDocument } from '../../model/wire/json-record.ts';
import { formatTimestampOrNull } from '../../model/wire/timestamp.ts';

interface RotationColumns {
  readonly rotation_policy: string | null;
  readonly rotated_at: number | null;
  readonly transition_expires_at: number | null;
}

/** Rotation data for the snapshot; empty for a credential without past and planned rotations. */
export function rotationOfRow(row: RotationColumns): Pick<SnapshotResource, 'rotation'> {
  const next = readDocument<RotationPolicy>(row.rotation_policy)?.next_rotation_at ?? null;
  if (next === null && row.rotated_at === null) return {};
  return {
    rotation: {
      next_rotation_at: next,
      rotated_at: formatTimestampOrNull(row.rotated_at),
      transition_expires_at: formatTimestampOrNull(row.transition_expires_at),
    },
  };
}

/** The policy as it was sent: with a period, `next_rotation_at` is computed by the server. */
export function sentRotationPolicy({
  rotation_policy: text,
}: Pick<RotationColumns, 'rotation_policy'>): Record<string, unknown> | null {
  const policy = readDocument<RotationPolicy>(text);
  if (policy === null) return null;
  if (!hasPeriod(policy)) return omitNulls(policy);
  const { next_rotation_at: _, ...sent } = policy;
  return omitNulls(sent);
}
