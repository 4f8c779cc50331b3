/** Groups the settings of the sealed snapshot. */
import type { SettingName, SettingValues } from '../variables/variables.ts';

export interface SnapshotSettings {
  /** Null when no snapshot is built or kept. */
  readonly directory: string | null;
  /** Null for no limit. */
  readonly maxAgeSeconds: number | null;
  /** Whether it is also saved in the bucket of uploaded files. */
  readonly isInBucket: boolean;
}

export function snapshotSettings(values: SettingValues): SnapshotSettings {
  return {
    directory: values.GATEWRIGHT_SNAPSHOT_DIRECTORY ?? null,
    maxAgeSeconds: values.GATEWRIGHT_SNAPSHOT_MAX_AGE_SECONDS ?? null,
    isInBucket: values.GATEWRIGHT_SNAPSHOT_BUCKET,
  };
}

/** A setting without effect is a mistake. */
export function snapshotFaults(
  { GATEWRIGHT_SNAPSHOT_BUCKET: isInBucket }: SettingValues,
  isGiven: (name: SettingName) => boolean,
): string[] {
  const directory = 'GATEWRIGHT_SNAPSHOT_DIRECTORY';
  const age = 'GATEWRIGHT_SNAPSHOT_MAX_AGE_SECONDS';
  const bucket = 'GATEWRIGHT_SNAPSHOT_BUCKET';
  const files = 'GATEWRIGHT_BLOB_S3_BUCKET';
  const needs = (name: string, needed: string, what: string): string =>
    `${name} needs ${needed}: set ${what}, or remove ${name}`;
  const folder = 'the folder of the snapshot';
  const hasFolder = isGiven(directory);
  return [
    ...(isGiven(age) && !hasFolder ? [needs(age, directory, folder)] : []),
    ...(isInBucket && !hasFolder ? [needs(bucket, directory, folder)] : []),
    ...(isInBucket && !isGiven(files) ? [needs(bucket, files, 'the bucket')] : []),
  ];
}
