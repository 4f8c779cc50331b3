/** Groups the settings of the sealed snapshot. */
import type { SettingName, SettingValues } from '../variables/variables.ts';

export interface SnapshotSettings {
  /** Null when no snapshot is built or kept. */
  readonly directory: string | null;
  /** Null for no limit. */
  readonly maxAgeSeconds: number | null;
}

export function snapshotSettings(values: SettingValues): SnapshotSettings {
  return {
    directory: values.GATEWRIGHT_SNAPSHOT_DIRECTORY ?? null,
    maxAgeSeconds: values.GATEWRIGHT_SNAPSHOT_MAX_AGE_SECONDS ?? null,
  };
}

/** A setting without effect is a mistake. */
export function snapshotFaults(
  _: SettingValues,
  isGiven: (name: SettingName) => boolean,
): string[] {
  const directory = 'GATEWRIGHT_SNAPSHOT_DIRECTORY';
  const age = 'GATEWRIGHT_SNAPSHOT_MAX_AGE_SECONDS';
  return isGiven(age) && !isGiven(directory)
    ? [`${age} needs ${directory}: set the folder of the snapshot, or remove ${age}`]
    : [];
}
