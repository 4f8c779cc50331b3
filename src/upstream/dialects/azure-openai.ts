/** Knows how Azure OpenAI is asked: a deployment in the path, a version in the query, a key in a header of its own. */
import type { DialectAccount, Dialect } from './dialect.ts';

const apiVersionUsual = '2024-10-21';

export const azureOpenAi: Dialect = {
  credentialHeaders: (credential) => ({ 'api-key': credential }),
  accountHeaders: () => ({}),
  passedHeaders: [],
  usualHeaders: {},
  pathOf: (path, account, model) => {
    const deployment = azureDeployment(account) ?? model;
    const version = first(account, 'azure_api_version', 'api_version') ?? apiVersionUsual;
    const query = `${path.includes('?') ? '&' : '?'}api-version=${encodeURIComponent(version)}`;
    return `/deployments/${encodeURIComponent(deployment ?? '')}${path}${query}`;
  },
};

/** Which answers, whatever model the body names; undefined where that decides. */
export function azureDeployment(account: DialectAccount): string | undefined {
  return first(account, 'azure_deployment_id', 'deployment_id');
}

/** Where a resource of Azure answers; null for no name of one. */
export function azureBaseUrl(account: DialectAccount): string | null {
  const name = first(account, 'azure_resource_name', 'resource_name');
  // One label of a host, so that no name leads to another host.
  if (name === undefined || !/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(name)) return null;
  return `https://${name}.openai.azure.com/openai`;
}

function first(account: DialectAccount, ...names: readonly string[]): string | undefined {
  return names.map((name) => account[name]).find((value) => value !== undefined);
}
