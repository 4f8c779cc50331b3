/** Determines address and credential of an Azure AI resource for a check. */
import { CheckError, type CheckSubject } from '../check.ts';
import { checkCredentials, type Parameters, textParameter } from './check-parameters.ts';
import { namedAccount } from './required-account.ts';
import type { ServiceAccounts } from './service-accounts.ts';

export interface AzureAccess {
  /** Address of the resource, without a slash at its end. */
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
}

const services = ['azure-openai', 'azure-ai'];
/** The name is a part of the host. */
const resourceForm = /^[a-z0-9][a-z0-9-]{0,62}$/i;

/** @throws CheckError when the check names no resource that can be used */
export async function azureAccess(
  parameters: Parameters,
  accounts: ServiceAccounts | null,
  subject: CheckSubject,
): Promise<AzureAccess> {
  const account = await namedAccount(parameters, accounts, subject, services);
  if (account !== null) {
    const { key, token, headers } = account;
    const address = addressOf(parameters, account.fields.azure_resource_name ?? '');
    return { address, headers: { ...headers, ...authorization(key ?? '', token ?? '') } };
  }
  const credentials = checkCredentials(parameters);
  const custom = textParameter(credentials, 'customHost');
  const endpoint = textParameter(parameters, 'endpoint', custom);
  const address = addressOf({ endpoint }, textParameter(credentials, 'resourceName'));
  const key = textParameter(credentials, 'apiKey');
  if (key !== '') return { address, headers: authorization(key, '') };
  const [tenantId, clientId, clientSecret] = ['tenantId', 'clientId', 'clientSecret'].map((name) =>
    textParameter(credentials, name),
  ) as [string, string, string];
  if (tenantId === '' || clientId === '' || clientSecret === '') {
    throw new CheckError(
      'the check has neither credentials.apiKey nor tenantId, clientId and clientSecret',
    );
  }
  if (accounts === null) throw new CheckError('this check cannot sign in at Entra ID here');
  const token = await accounts.entraToken({ tenantId, clientId, clientSecret });
  return { address, headers: authorization('', token) };
}

function addressOf(parameters: Parameters, resource: string): string {
  const endpoint = textParameter(parameters, 'endpoint').replace(/\/+$/, '');
  if (endpoint !== '') return endpoint;
  if (resourceForm.test(resource)) return `https://${resource}.cognitiveservices.azure.com`;
  throw new CheckError('the check has no credentials.resourceName');
}

function authorization(key: string, token: string): Readonly<Record<string, string>> {
  return token === '' ? { 'ocp-apim-subscription-key': key } : { authorization: `Bearer ${token}` };
}
