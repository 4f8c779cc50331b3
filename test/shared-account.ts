/** Knows two workspaces that keep things with one account at a provider, and clients of either. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { type Inference, startInference } from './inference.ts';
import { exchange, type TestResponse } from './server.ts';

export interface Tenant {
  readonly key: string;
  readonly client: OpenAI;
}

export interface AnthropicTenant {
  readonly key: string;
  readonly client: Anthropic;
}

export interface SharedAccount extends AsyncDisposable {
  readonly inference: Inference;
  /** A new workspace, whose key asks the account as one of OpenAI. */
  tenant(name: string): Promise<Tenant>;
  /** A new workspace, whose key asks the account as one of Anthropic. */
  anthropicTenant(name: string): Promise<AnthropicTenant>;
  ask(
    by: { readonly key: string },
    method: string,
    path: string,
    body?: object | string,
    headers?: Record<string, string>,
  ): Promise<TestResponse>;
}

/** The upstream of the inference is the provider, which has one account. */
export async function startSharedAccount(): Promise<SharedAccount> {
  const inference = await startInference();
  const post = async (path: string, body: object) => {
    const answer = await inference.server.request('POST', path, { body });
    if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const integrationOf = (ai_provider_id: string) =>
    post('/v1/integrations', {
      ...{ name: ai_provider_id, slug: `shared-${ai_provider_id}`, ai_provider_id, key: 'shared' },
      configurations: { custom_host: inference.upstream.url },
      capabilities: { assistants: 'proxy', files: 'proxy' },
    });
  const integrations = { openai: integrationOf('openai'), anthropic: integrationOf('anthropic') };
  const keyAt = async (name: string, service: keyof typeof integrations): Promise<string> => {
    const integration = await integrations[service];
    const { id: workspace_id } = await post('/v2/workspaces', { name });
    const { slug } = await post('/v1/providers', {
      ...{ name, integration_id: integration.id, workspace_id },
    });
    const config = { name, workspace_id, config: { provider: `@${slug}` } };
    const { slug: config_id } = await post('/v2/configs', config);
    return (await inference.addKey({ workspace_id, defaults: { config_id } })).key;
  };
  await Promise.all(Object.values(integrations));
  const options = { maxRetries: 0, timeout: 600_000 };
  const baseURL = inference.server.inferenceUrl;
  return {
    inference,
    tenant: async (name) => {
      const key = await keyAt(name, 'openai');
      const keys = { apiKey: key, adminAPIKey: key };
      return { key, client: new OpenAI({ ...keys, baseURL: `${baseURL}/v1`, ...options }) };
    },
    anthropicTenant: async (name) => {
      const key = await keyAt(name, 'anthropic');
      return { key, client: new Anthropic({ apiKey: key, baseURL, ...options }) };
    },
    ask: ({ key }, method, path, body, headers = {}) =>
      exchange(method, `${baseURL}/v1${path}`, body, {
        authorization: `Bearer ${key}`,
        ...headers,
      }),
    [Symbol.asyncDispose]: () => inference[Symbol.asyncDispose](),
  };
}
