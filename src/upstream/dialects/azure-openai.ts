/** Defines the wire format of Azure OpenAI: deployment in the path, version in the query, key in its own header. */
import type { Dialect, DialectAccount } from './dialect.ts';

const apiVersionUsual = '2024-10-21';

export const azureOpenAi: Dialect = {
  credentialHeaders: (credential) => ({ 'api-key': credential }),
  accountHeaders: () => ({}),
  passedHeaders: [],
  usualHeaders: {},
  pathOf: (path, account, model) => {
    const deployment = azureDeployment(account) ?? model;
    const version = first(account, 'azure_api_version', 'api_version') ?? apiVersionUsual;
    const query = `${path.includes('?') ? '&' : '?'}api-version=${encodeURIComponent(version.toWellFormed())}`;
    return `/deployments/${encodeURIComponent((deployment ?? '').toWellFormed())}${path}${query}`;
  },
};

/** The deployment that responds, whatever model the body names; undefined when the model selects it. */
export function azureDeployment(account: DialectAccount): string | undefined {
  return first(account, 'azure_deployment_id', 'deployment_id');
}

function first(account: DialectAccount, ...names: readonly string[]): string | undefined {
  return names.map((name) => account[name]).find((value) => value !== undefined);
}
