/** Creates two workspaces that store objects in one provider account, and clients of both. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { ownedPathOf } from '../../../src/gateway/references/owned-path.ts';
import { publicPath } from '../../../src/model/endpoints/catalogue.ts';
import { exchange, type TestResponse } from '../network/exchange.ts';
import { type Inference, startInference } from '../server/inference.ts';
import { sendJson, type TestUpstream } from './upstream.ts';

export interface Tenant {
  readonly key: string;
  readonly keyId: string;
  readonly workspaceId: string;
  /** The provider name for configs. */
  readonly provider: string;
  readonly client: OpenAI;
}

export interface AnthropicTenant {
  readonly key: string;
  readonly keyId: string;
  readonly client: Anthropic;
}

export interface SharedAccount extends AsyncDisposable {
  readonly inference: Inference;
  /** Creates a workspace whose key uses the account with the OpenAI format. */
  tenant(name: string, more?: object): Promise<Tenant>;
  /** Creates a workspace whose key uses the account with the Anthropic format. */
  anthropicTenant(name: string, more?: object): Promise<AnthropicTenant>;
  ask(
    by: { readonly key: string },
    method: string,
    path: string,
    body?: object | string,
    headers?: Record<string, string>,
  ): Promise<TestResponse>;
}

/** The test upstream is the provider with the one account. */
export async function startSharedAccount(): Promise<SharedAccount> {
  const inference = await startInference();
  const post = async (path: string, body: object) => {
    const answer = await inference.server.request('POST', path, { body });
    if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const integrationOf = (ai_provider_id: string) =>
    post('/v1/integrations', {
      name: ai_provider_id,
      slug: `shared-${ai_provider_id}`,
      ai_provider_id,
      key: 'shared',
      configurations: { custom_host: inference.upstream.url },
      capabilities: { assistants: 'proxy', files: 'proxy' },
    });
  const integrations = { openai: integrationOf('openai'), anthropic: integrationOf('anthropic') };
  const keyAt = async (name: string, service: keyof typeof integrations, more: object = {}) => {
    const integration = await integrations[service];
    const { id: workspace_id } = await post('/v2/workspaces', { name });
    const { slug } = await post('/v1/providers', {
      name,
      integration_id: integration.id,
      workspace_id,
    });
    const config = { name, workspace_id, config: { provider: `@${slug}` } };
    const { slug: config_id } = await post('/v2/configs', config);
    const key = await inference.addKey({ workspace_id, defaults: { config_id }, ...more });
    return { ...key, workspaceId: workspace_id, provider: `@${slug}` };
  };
  await Promise.all(Object.values(integrations));
  const options = { maxRetries: 0, timeout: 600_000 };
  const baseURL = inference.server.inferenceUrl;
  return {
    inference,
    tenant: async (name, more) => {
      const { key, id: keyId, workspaceId, provider } = await keyAt(name, 'openai', more);
      const keys = { apiKey: key, adminAPIKey: key };
      const client = new OpenAI({ ...keys, baseURL: `${baseURL}/v1`, ...options });
      return { key, keyId, workspaceId, provider, client };
    },
    anthropicTenant: async (name, more) => {
      const { key, id: keyId } = await keyAt(name, 'anthropic', more);
      return { key, keyId, client: new Anthropic({ apiKey: key, baseURL, ...options }) };
    },
    ask: ({ key }, method, path, body, headers = {}) =>
      exchange(method, baseURL + publicPath(path), body, {
        authorization: `Bearer ${key}`,
        ...headers,
      }),
    [Symbol.asyncDispose]: () => inference[Symbol.asyncDispose](),
  };
}

export interface Keeper {
  /** Objects in the account, by id. */
  readonly objects: Map<string, Record<string, unknown>>;
  readonly script: TestUpstream['script'];
}

/** A provider that stores all objects that are created, including those of chats. */
export function startKeeper(): Keeper {
  const objects: Keeper['objects'] = new Map();
  let made = 0;
  const script: TestUpstream['script'] = ({ method, url, headers, body }, response) => {
    const path = new URL(url, 'http://any').pathname.slice('/v1'.length);
    const isJson = headers['content-type']?.startsWith('application/json') === true;
    const stated = isJson ? JSON.parse(body.toString()) : {};
    const owned = ownedPathOf(method, path);
    made += 1;
    if (path === '/chat/completions' && method === 'POST') {
      const audio = stated.modalities === undefined ? undefined : { id: `audio-${made}`, data: '' };
      const message = { role: 'assistant', content: 'hi', audio };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      const { model, metadata } = stated;
      const chat = { id: `chatcmpl-${made}`, object: 'chat.completion', model, metadata, choices };
      if (stated.store === true) objects.set(chat.id, chat);
      const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
      return sendJson(response, { ...chat, usage });
    }
    if (path === '/messages') {
      const container = { id: `container-${made}`, expires_at: 'soon' };
      const output = { type: 'code_execution_output', file_id: `file-of-code-${made}` };
      objects.set(output.file_id, { id: output.file_id, type: 'file' });
      const result = { type: 'code_execution_result', content: [output] };
      const content = [
        { type: 'tool_use', id: 't', name: 'x', input: { content: [{ file_id: 'file-made-up' }] } },
        { type: 'code_execution_tool_result', tool_use_id: 't', content: result },
      ];
      const counts = { input_tokens: 5, output_tokens: 2 };
      const id = `msg-${made}`;
      return sendJson(response, { id, type: 'message', container, content, usage: counts });
    }
    if (owned === null) return sendJson(response, { path });
    if (method === 'POST' && owned.isMaker) {
      const one = { ...stated, id: `${owned.kind}-${made}`, object: owned.kind };
      objects.set(one.id, one);
      return sendJson(response, one);
    }
    const one = objects.get(owned.id!);
    if (one === undefined) return sendJson(response, { error: { message: 'none' } }, 404);
    if (method === 'DELETE' && owned.rest.length === 0) objects.delete(owned.id!);
    return sendJson(response, one);
  };
  return { objects: objects, script };
}
