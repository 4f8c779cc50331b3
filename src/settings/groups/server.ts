/** Groups the settings of the listeners of a server. */
import type { SettingValues } from '../variables/variables.ts';

export interface ServerSettings {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly metricsPort: number;
  readonly connectionsMax: number;
  /** Null when unset: 5 for a deployment, 0 for `up`. */
  readonly lameDuckSeconds: number | null;
  readonly drainSeconds: number;
  /** Whether the Admin API serves the console. Null when unset: no for a deployment, yes for `up`. */
  readonly console: boolean | null;
}

export function serverSettings(values: SettingValues): ServerSettings {
  return {
    host: values.GATEWRIGHT_HOST,
    port: values.PORT,
    metricsPort: values.GATEWRIGHT_METRICS_PORT,
    connectionsMax: values.GATEWRIGHT_CONNECTIONS_MAX,
    lameDuckSeconds: values.GATEWRIGHT_LAME_DUCK_SECONDS ?? null,
    drainSeconds: values.GATEWRIGHT_SHUTDOWN_DRAIN_SECONDS,
    console: values.GATEWRIGHT_CONSOLE_ENABLED ?? null,
  };
}
