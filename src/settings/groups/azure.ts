/** Groups the settings with which a cluster at Azure identifies the pod of the gateway. */
import type { SettingValues } from '../variables/variables.ts';

export interface AzureSettings {
  readonly authority: string;
  readonly tenantId: string;
  readonly clientId: string;
  readonly tokenFile: string;
}

/** Null outside of a cluster with workload identity. */
export function azureSettings(values: SettingValues): AzureSettings | null {
  const {
    AZURE_FEDERATED_TOKEN_FILE: tokenFile,
    AZURE_TENANT_ID: tenantId,
    AZURE_CLIENT_ID: clientId,
    AZURE_AUTHORITY_HOST: authority,
  } = values;
  if (tokenFile === undefined || tenantId === undefined || clientId === undefined) return null;
  return { authority: authority.href, tenantId, clientId, tokenFile };
}
