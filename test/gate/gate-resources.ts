/** Adds the limits, the key and the providers of a run of the gate. */
import type { TestServer } from '../support/server/server.ts';
import type { GateLimit } from './counters.ts';
import { type FormName, requestForms } from './forms.ts';

/** Limit type and its units. */
export interface GateTerms {
  readonly key?: { readonly type: 'cost' | 'tokens'; readonly units: number };
  readonly workspace?: { readonly type: 'cost' | 'tokens'; readonly units: number };
  /** For each team, of which there is one. */
  readonly policy?: { readonly type: 'requests'; readonly units: number };
}

/** Adds a key of a workspace, with these limits. */
export async function addLimits(
  server: TestServer,
  { key, workspace, policy }: GateTerms,
): Promise<{
  readonly key: string;
  readonly workspaceId: string;
  readonly limits: readonly GateLimit[];
}> {
  const make = (path: string, body: object) => send(server, 'POST', path, body);
  const terms = ({ type, units }: NonNullable<GateTerms['key' | 'workspace' | 'policy']>) => ({
    type,
    credit_limit: type === 'cost' ? units / 1_000_000 : units,
  });
  const limits: GateLimit[] = [];
  const { id: workspaceId } = await make('/admin/v2/workspaces', {
    name: 'gate',
    ...(workspace && { usage_limits: [terms(workspace)] }),
  });
  if (workspace) limits.push({ name: 'workspace', subjectId: workspaceId, ...workspace });
  const made = await make('/v1/api-keys/workspace/service', {
    name: 'caller',
    scopes: ['completions.write'],
    workspace_id: workspaceId,
    ...(key && { usage_limits: { ...terms(key), periodic_reset_days: 365 } }),
  });
  if (key) limits.push({ name: 'key', subjectId: made.id, ...key });
  if (policy) {
    const { id } = await make('/v1/policies/usage-limits', {
      name: 'teams',
      workspace_id: workspaceId,
      ...terms(policy),
      conditions: [{ key: 'metadata.team', value: '*' }],
      group_by: [{ key: 'metadata.team' }],
    });
    limits.push({ name: 'policy', subjectId: id, ...policy });
  }
  return { key: made.key, workspaceId, limits };
}

/** Configuration of a service beside its address and its key. */
const configurationsOf: Readonly<Record<string, object>> = {
  bedrock: { aws_region: 'us-east-1' },
  'vertex-ai': { vertex_project_id: 'our-project', vertex_region: 'us-east5' },
};

/** Prices of the mock upstream, in US cents. */
const pay_as_you_go = { request_token: { price: 0.0001 }, response_token: { price: 0.0002 } };

/** Adds an account at each service of the forms, with the prices of the mock upstream. */
export async function addFormConfigs(
  server: TestServer,
  workspaceId: string,
  forms: readonly FormName[],
  url: string,
): Promise<ReadonlyMap<FormName, object>> {
  const configs = new Map<FormName, object>();
  for (const form of forms) {
    const { service, model, isHedged } = requestForms[form];
    if (isHedged) configs.set(form, hedgedConfig(url));
    if (service === null) continue;
    const { id } = await send(server, 'POST', '/v1/integrations', {
      name: form,
      ai_provider_id: service,
      key: 'sk',
      configurations: { custom_host: url.replace(/\/v1$/, ''), ...configurationsOf[service] },
    });
    const priced = {
      slug: model,
      enabled: true,
      pricing_config: { type: 'static', pay_as_you_go },
    };
    await send(server, 'PUT', `/v1/integrations/${id}/models`, { models: [priced] });
    const owned = { name: form, integration_id: id, workspace_id: workspaceId };
    const { slug } = await send(server, 'POST', '/v1/providers', owned);
    configs.set(form, { provider: `@${slug}` });
  }
  return configs;
}

/** Sends many second requests, each to the other target. */
function hedgedConfig(url: string): object {
  const targets = ['0', '1'].map((user) => ({
    provider: 'mock-upstream',
    custom_host: url,
    override_params: { user },
  }));
  const hedge = { percentile: 50, max_percent: 50, min_ms: 1 };
  return { strategy: { mode: 'loadbalance', hedge }, targets };
}

async function send(
  server: TestServer,
  method: 'POST' | 'PUT',
  path: string,
  body: object,
): Promise<ReturnType<typeof JSON.parse>> {
  const made = await server.request(method, path, { body });
  if (made.status !== 200) throw new Error(`${path}: ${JSON.stringify(made.body)}`);
  return made.body;
}
