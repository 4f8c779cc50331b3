/** Obtains access tokens of Entra ID: by a client secret, by the token of the pod, or from the metadata service. */
import { readFile } from 'node:fs/promises';
import type { AzureMachineLogin, EntraLogin, EntraWorkloadLogin } from './cloud-login.ts';
import { entraEndpoint } from './entra-login.ts';
import {
  type GrantedToken,
  requestOAuthToken,
  type TokenServer,
  tokenIn,
} from './granted-token.ts';
import type { OwnIdentity } from './own-identity.ts';

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

export function tokenBySecret(
  { endpoint, clientId, clientSecret, scope }: EntraLogin,
  server: TokenServer,
): Promise<GrantedToken> {
  const grant = { grant_type: 'client_credentials', scope };
  const form = { ...grant, client_id: clientId, client_secret: clientSecret };
  return requestOAuthToken(server, { url: endpoint, form });
}

export async function tokenByPod(
  { clientId, scope }: EntraWorkloadLogin,
  { azurePod: pod }: OwnIdentity,
  server: TokenServer,
): Promise<GrantedToken> {
  if (pod === null) {
    const names = 'AZURE_FEDERATED_TOKEN_FILE, AZURE_TENANT_ID and AZURE_CLIENT_ID';
    return { fault: `the gateway has no workload identity: ${names} are not set` };
  }
  const url = entraEndpoint(pod.authority, pod.tenantId);
  if (url === null) return { fault: 'AZURE_TENANT_ID must be an id or a domain' };
  let assertion: string;
  try {
    assertion = (await readFile(pod.tokenFile, 'utf8')).trim();
  } catch {
    return { fault: 'AZURE_FEDERATED_TOKEN_FILE cannot be read' };
  }
  return requestOAuthToken(server, {
    url,
    form: {
      grant_type: 'client_credentials',
      scope,
      client_id: clientId || pod.clientId,
      client_assertion_type: assertionType,
      client_assertion: assertion,
    },
  });
}

/** The metadata service names the resource in place of a scope. */
export async function tokenByMachine(
  { clientId, scope }: AzureMachineLogin,
  { machine }: OwnIdentity,
): Promise<GrantedToken> {
  const resource = scope.replace(/\/\.default$/, '');
  try {
    const body = await machine.azureToken(resource, clientId || null);
    return tokenIn((body ?? {}) as Readonly<Record<string, unknown>>);
  } catch (error) {
    return { fault: (error as Error).message };
  }
}
