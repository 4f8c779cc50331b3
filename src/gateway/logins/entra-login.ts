/** Reads the login at Entra ID from the configurations of an Azure integration. */
import type { IntegrationConfigurations } from '../../model/providers/integration.ts';
import { type CloudLogin, invalidLogin } from './cloud-login.ts';

const usualAuthority = 'https://login.microsoftonline.com';
/** Audience of Azure OpenAI and of AI Foundry. */
const usualScope = 'https://cognitiveservices.azure.com/.default';

/** Null when the key of the integration is sent. */
export function entraLoginOf(
  configurations: IntegrationConfigurations,
  origin: string,
): CloudLogin | null {
  const text = (name: string): string => {
    const value = configurations[name];
    return typeof value === 'string' ? value : '';
  };
  const scope = text('azure_entra_scope') || usualScope;
  const mode = text('azure_auth_mode');
  if (mode === 'managed') {
    const clientId = text('azure_managed_client_id');
    return { kind: 'azure-machine', origin, endpoint: '', clientId, scope };
  }
  if (mode === 'workload') {
    const clientId = text('azure_workload_client_id');
    return { kind: 'entra-workload', origin, endpoint: '', clientId, scope };
  }
  const token = text('azure_ad_token');
  if (token !== '' && mode !== 'entra') return { kind: 'static', origin, endpoint: '', token };
  return mode === 'entra' ? clientLogin(text, origin, scope) : null;
}

function clientLogin(text: (name: string) => string, origin: string, scope: string): CloudLogin {
  const fields = ['azure_entra_tenant_id', 'azure_entra_client_id', 'azure_entra_client_secret'];
  const missing = fields.filter((name) => text(name) === '');
  if (missing.length > 0) {
    return invalidLogin(origin, `its configurations have no ${missing.join(', ')}`);
  }
  const tenant = text('azure_entra_tenant_id');
  const endpoint = entraEndpoint(text('azure_authority_url') || usualAuthority, tenant);
  if (endpoint === null) {
    return invalidLogin(origin, 'azure_entra_tenant_id must be an id or a domain');
  }
  const clientId = text('azure_entra_client_id');
  const clientSecret = text('azure_entra_client_secret');
  return { kind: 'entra', origin, endpoint, clientId, clientSecret, scope };
}

/** Null when the tenant is neither an id nor a domain. */
export function entraEndpoint(authority: string, tenant: string): string | null {
  if (!/^[a-z0-9][a-z0-9.-]{0,253}$/i.test(tenant) || !URL.canParse(authority)) return null;
  return `${authority.replace(/\/+$/, '')}/${tenant}/oauth2/v2.0/token`;
}
