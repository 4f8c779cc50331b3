/** Groups and validates the settings of the MCP gateway. */
import type { SettingName, SettingValues } from '../variables/variables.ts';

export interface McpSettings {
  /** 0 selects a free port; null when unset. */
  readonly port: number | null;
  readonly connectionsMax: number;
  readonly bodyBytesMax: number;
  /** Silence on a stream of events after which a comment is sent. */
  readonly keepAliveMs: number;
  /** Names in lower case. */
  readonly hosts: readonly string[];
  /** Address at which clients reach the gateway, without a slash at its end; null when unset. */
  readonly publicUrl: string | null;
  /** Issuers of the tokens of clients. */
  readonly authorizationServers: readonly string[];
  /** Address at which other replicas reach this one; null for that of the listener. */
  readonly replicaUrl: string | null;
}

const mebibyte = 1024 * 1024;

export function mcpSettings(values: SettingValues): McpSettings {
  return {
    port: values.GATEWRIGHT_MCP_PORT ?? null,
    connectionsMax: values.GATEWRIGHT_MCP_CONNECTIONS_MAX,
    bodyBytesMax: values.GATEWRIGHT_MCP_BODY_MIB_MAX * mebibyte,
    keepAliveMs: values.GATEWRIGHT_MCP_KEEP_ALIVE_SECONDS * 1000,
    hosts: values.GATEWRIGHT_MCP_HOSTS,
    publicUrl: values.GATEWRIGHT_MCP_URL?.href.replace(/\/+$/, '') ?? null,
    authorizationServers:
      values.GATEWRIGHT_MCP_AUTHORIZATION_SERVERS ?? tokenIssuer(values.GATEWRIGHT_JWT_ISSUER),
    replicaUrl: values.GATEWRIGHT_MCP_REPLICA_URL ?? null,
  };
}

function tokenIssuer(issuer: string | undefined): string[] {
  return issuer !== undefined && /^https?:$/.test(URL.parse(issuer)?.protocol ?? '')
    ? [issuer]
    : [];
}

/** @param isGiven whether a setting is set, even if invalid */
export function mcpFaults(_: SettingValues, isGiven: (name: SettingName) => boolean): string[] {
  const needed: SettingName[] = ['GATEWRIGHT_MCP_URL', 'GATEWRIGHT_JWT_JWKS_URIS'];
  if (!isGiven('GATEWRIGHT_MCP_AUTHORIZATION_SERVERS')) return [];
  return needed
    .filter((name) => !isGiven(name))
    .map(
      (name) => `GATEWRIGHT_MCP_AUTHORIZATION_SERVERS is set, but has no effect without ${name}`,
    );
}
