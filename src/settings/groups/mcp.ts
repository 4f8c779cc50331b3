/** Groups the settings of the MCP gateway. */
import type { SettingValues } from '../variables/variables.ts';

export interface McpSettings {
  /** 0 selects a free port; null when unset. */
  readonly port: number | null;
  readonly connectionsMax: number;
  readonly bodyBytesMax: number;
  /** Names in lower case. */
  readonly hosts: readonly string[];
}

const mebibyte = 1024 * 1024;

export function mcpSettings(values: SettingValues): McpSettings {
  return {
    port: values.GATEWRIGHT_MCP_PORT ?? null,
    connectionsMax: values.GATEWRIGHT_MCP_CONNECTIONS_MAX,
    bodyBytesMax: values.GATEWRIGHT_MCP_BODY_MIB_MAX * mebibyte,
    hosts: values.GATEWRIGHT_MCP_HOSTS,
  };
}
