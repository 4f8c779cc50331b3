/** Defines the wire formats of Azure AI Foundry: Claude below `/anthropic`, others below `/openai/v1` or `/models`. */
import { anthropic } from './anthropic.ts';
import { azureVersion, withVersion } from './azure-openai.ts';
import { type Dialect, type DialectAccount, modelChange, NotServed } from './dialect.ts';

/** The version of `/models` that is generally available. */
const modelsVersion = '2024-05-01-preview';

const foundry = {
  credentialHeaders: (credential: string) => ({ 'api-key': credential }),
  changesOf: (request) => modelChange(request, foundryDeployment(request.account)),
} satisfies Partial<Dialect>;

export const foundryOpenAi: Dialect = {
  ...foundry,
  accountHeaders: () => ({}),
  passedHeaders: ['extra-parameters'],
  usualHeaders: {},
  pathOf: ({ path, account }) =>
    usesModels(account)
      ? `/models${withVersion(path, azureVersion(account) ?? modelsVersion)}`
      : `/openai/v1${path}`,
};

export const foundryAnthropic: Dialect = {
  ...anthropic,
  ...foundry,
  pathOf: ({ path }) => {
    if (path.startsWith('/messages')) return `/anthropic/v1${path}`;
    throw new NotServed('Azure AI Foundry serves only messages of Claude models');
  },
};

/** The deployment that responds, whatever model the body names; undefined when the model selects it. */
export function foundryDeployment(account: DialectAccount): string | undefined {
  return account.azure_deployment_name;
}

/** Whether the account uses the model inference API in place of OpenAI's. */
function usesModels(account: DialectAccount): boolean {
  const version = azureVersion(account);
  const isDated = version !== undefined && version !== 'v1';
  return isDated || /\/models\/*$/.test(account.azure_foundry_url ?? '');
}
