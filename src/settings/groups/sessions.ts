/** Groups the settings of sessions, in which users of a browser are signed in. */
import type { SettingValues } from '../variables/variables.ts';

export interface UserSessionSettings {
  /**
   * Address at which browsers reach the Admin API. Null when unset: browsers on this machine only, by any
   * of its loopback addresses.
   */
  readonly publicUrl: URL | null;
  readonly sessionMs: number;
  readonly idleMs: number;
}

export function sessionSettings(values: SettingValues): UserSessionSettings {
  return {
    publicUrl: values.GATEWRIGHT_PUBLIC_URL ?? null,
    sessionMs: values.GATEWRIGHT_SESSION_HOURS * 3_600_000,
    idleMs: values.GATEWRIGHT_SESSION_IDLE_MINUTES * 60_000,
  };
}
