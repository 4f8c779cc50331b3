/** Creates OpenAI clients of new workspaces whose provider stores nothing. */
import OpenAI from 'openai';
import { expect } from 'vitest';
import type { Inference } from './inference.ts';

/** Returns a client of a new workspace with an account at the service. */
export async function objectClient(
  inference: Inference,
  service: string,
  config: object = {},
): Promise<OpenAI> {
  const post = async (path: string, body: object) => {
    const answer = await inference.server.request('POST', path, { body });
    expect(answer).toMatchObject({ status: 200 });
    return answer.body;
  };
  const integration = await post('/v1/integrations', {
    name: service,
    ai_provider_id: service,
    key: 'sk-any',
    configurations: { custom_host: inference.upstream.url },
  });
  const workspace = await post('/v2/workspaces', { name: service });
  const place = { workspace_id: workspace.id };
  const provider = { ...place, name: service, integration_id: integration.id };
  const { slug } = await post('/v1/providers', provider);
  const saved = { provider: `@${slug}`, ...config };
  const made = await post('/v2/configs', { ...place, name: service, config: saved });
  const { key } = await inference.addKey({ ...place, defaults: { config_id: made.slug } });
  const baseURL = `${inference.server.inferenceUrl}/v1`;
  return new OpenAI({ apiKey: key, baseURL, maxRetries: 0, timeout: 600_000 });
}
