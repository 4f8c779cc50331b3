/** Groups the settings of the spool. */
import type { SettingValues } from '../variables/variables.ts';

export interface SpoolSettings {
  /** Null when records wait in memory only. */
  readonly directory: string | null;
  readonly bytesMax: number;
}

export function spoolSettings(values: SettingValues): SpoolSettings {
  return {
    directory: values.GATEWRIGHT_SPOOL_DIRECTORY ?? null,
    bytesMax: values.GATEWRIGHT_SPOOL_MAX_BYTES,
  };
}
