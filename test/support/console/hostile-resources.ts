/** Creates resources whose names and texts are markup, with log rows that name them. */
import type { TestServer } from '../server/server.ts';
import { addHostileTenant } from './hostile-tenant.ts';

export interface HostileResources {
  /** A variable that markup would set if it ran, and the attribute that it would carry. */
  readonly mark: string;
  readonly text: string;
  /** Pages of single resources. */
  readonly addresses: readonly string[];
}

const mark = 'ranmarkup';

/** At most 64 characters, the bound of the shortest names. */
const text = `<img src=x onerror=${mark}=1 data-${mark}>`;

export async function addHostileResources(server: TestServer): Promise<HostileResources> {
  const create = async <Created = { id: string }>(
    path: string,
    body: unknown,
  ): Promise<Created> => {
    const reply = await server.request('POST', path, { body });
    if (reply.status !== 200) throw new Error(`${path}: ${JSON.stringify(reply.body)}`);
    return reply.body.data ?? reply.body;
  };
  const workspace = await create('/v2/admin/workspaces', { name: text, description: text });
  const config = await create('/v2/configs', {
    name: text,
    workspace_id: workspace.id,
    config: {
      strategy: {
        mode: 'conditional',
        // biome-ignore lint/suspicious/noThenProperty: the name in the format of configs
        conditions: [{ query: { 'metadata.team': { $eq: text } }, then: 'one' }],
        default: 'one',
      },
      targets: [{ name: 'one', provider: 'openai', override_params: { model: text } }],
    },
  });
  const guardrail = await create('/v2/guardrails', {
    name: text,
    workspace_id: workspace.id,
    checks: [{ id: 'default.contains', parameters: { words: [text], operator: 'none' } }],
    actions: { deny: true },
  });
  const key = await create('/v2/api-keys/workspace/service', {
    name: text,
    description: text,
    workspace_id: workspace.id,
    scopes: ['completions.write'],
    defaults: { metadata: { team: text } },
  });
  const log = await create<{ log_ids: string[] }>('/v1/logs', {
    request: {
      method: 'POST',
      url: 'https://api.example.com/v1/chat/completions',
      body: { model: text },
    },
    response: {
      status: 200,
      body: { choices: [{ message: { role: 'assistant', content: text } }] },
    },
    metadata: { team: text },
  });
  const others = await addHostileTenant(server, create, { text, workspaceId: workspace.id });
  return {
    mark,
    text,
    addresses: [
      `/configs/${config.id}`,
      `/guardrails/${guardrail.id}`,
      `/keys/${key.id}`,
      `/workspaces/${workspace.id}`,
      `/logs/${log.log_ids[0]}`,
      ...others,
    ],
  };
}
