/** Defines the wire format of Azure OpenAI: deployments in the path, or the form `/v1` with the model in the body. */
import {
  type Dialect,
  type DialectAccount,
  type DialectRequest,
  type MemberChanges,
  modelChange,
} from './dialect.ts';

const apiVersionUsual = '2024-10-21';
/** Versions of the form `/openai/v1`, which has no deployment in its path. */
const v1Versions = ['v1', 'latest', 'preview'];

export const azureOpenAi: Dialect = {
  credentialHeaders: (credential) => ({ 'api-key': credential }),
  accountHeaders: () => ({}),
  passedHeaders: [],
  usualHeaders: {},
  pathOf: ({ path, account, model }) => {
    const version = azureVersion(account) ?? apiVersionUsual;
    if (v1Versions.includes(version)) {
      return `/v1${version === 'preview' ? withVersion(path, version) : path}`;
    }
    const deployment = azureDeployment(account) ?? model;
    if (path === '/realtime') return withVersion(socketPath(path, deployment), version);
    const name = encodeURIComponent((deployment ?? '').toWellFormed());
    return `/deployments/${name}${withVersion(path, version)}`;
  },
  changesOf: deployedModel,
};

/** A session of the realtime API names the deployment in the query. */
function socketPath(path: string, deployment: string | null): string {
  return `${path}?${new URLSearchParams({ deployment: deployment ?? '' })}`;
}

/** The deployment that responds, whatever model the body names; undefined when the model selects it. */
export function azureDeployment(account: DialectAccount): string | undefined {
  return first(account, 'azure_deployment_id', 'deployment_id');
}

export function azureVersion(account: DialectAccount): string | undefined {
  return first(account, 'azure_api_version', 'api_version');
}

export function withVersion(path: string, version: string): string {
  const mark = path.includes('?') ? '&' : '?';
  return `${path}${mark}api-version=${encodeURIComponent(version.toWellFormed())}`;
}

/** In the form `/v1` the body names the deployment. */
function deployedModel({ account, params }: DialectRequest): MemberChanges | null {
  if (!v1Versions.includes(azureVersion(account) ?? '')) return null;
  return modelChange({ params }, azureDeployment(account));
}

function first(account: DialectAccount, ...names: readonly string[]): string | undefined {
  return names.map((name) => account[name]).find((value) => value !== undefined);
}
