/**
 * Verifies secret mappings in the gateway: values are sent and never shown, changes take effect,
 * and outages are bridged.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { exchange } from '../../support/network/exchange.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import {
  type ManagerServer,
  startVaultServer,
  type VaultContent,
} from '../../support/upstream/secret-manager-servers.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let vault: ManagerServer;
let content: VaultContent;
let workspace: { id: string };
let other: { id: string };
let key: string;
const minute = 60_000;

beforeAll(async () => {
  content = {
    mounts: { 'secret/': '2' },
    secrets: {},
    tokens: new Set(['hvs.root-canary']),
  };
  vault = await startVaultServer(content);
  const trusted = readTrustedHosts('127.0.0.1');
  inference = await startInference({ trustedHosts: 'hosts' in trusted ? trusted.hosts : [] });
  workspace = await post('/v2/workspaces', { name: 'Support' });
  other = await post('/v2/workspaces', { name: 'Other' });
  ({ key } = await inference.addKey({ workspace_id: workspace.id }));
});
beforeEach(() => {
  delete content.outage;
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});
afterAll(async () => {
  await inference[Symbol.asyncDispose]();
  await vault[Symbol.asyncDispose]();
});

async function post(path: string, body: object) {
  const made = await inference.server.request('POST', path, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}
const put = async (path: string, body: object) =>
  expect(await inference.server.request('PUT', path, { body })).toMatchObject({ status: 200 });

let count = 0;

/** Creates a secret reference and a provider that uses it. */
async function make(
  fields: Record<string, unknown>,
  mappings: readonly Record<string, unknown>[] = [{ target_field: 'key', secret_key: 'api_key' }],
  more: Record<string, unknown> = {},
) {
  count += 1;
  const path = `secret/account-${count}`;
  content.secrets[path] = fields;
  const reference = await post('/v2/secret-references', {
    name: 'r',
    manager_type: 'hashicorp_vault',
    secret_path: path,
    auth_config: {
      vault_auth_type: 'token',
      vault_addr: vault.url,
      vault_token: 'hvs.root-canary',
    },
    allow_all_workspaces: true,
    allowed_hosts: ['127.0.0.1'],
    ...more,
  });
  const integration = await post('/v1/integrations', {
    name: `Account ${count}`,
    ai_provider_id: 'openai',
    configurations: { custom_host: inference.upstream.url },
    secret_mappings: mappings.map((one) => ({ ...one, secret_reference_id: reference.slug })),
  });
  const { slug } = await post('/v1/providers', {
    name: `p ${count}`,
    integration_id: integration.id,
    workspace_id: workspace.id,
  });
  return { slug, path, reference, integration };
}

function ask(
  slug: string,
  more: Record<string, string> = {},
  url: string = inference.server.inferenceUrl,
) {
  const body = { model: 'm', messages: [{ role: 'user', content: `hello ${Math.random()}` }] };
  return exchange('POST', `${url}/v1/chat/completions`, body, {
    authorization: `Bearer ${key}`,
    'x-gateway-provider': `@${slug}`,
    ...more,
  });
}
const sentKeys = () => inference.upstream.reached.map(({ headers }) => headers.authorization);

describe('a mapped secret', () => {
  it('is sent as key and headers, read once, and never shown', async () => {
    const { slug } = await make({ api_key: 'sk-canary-one', team: 'T' }, [
      { target_field: 'key', secret_key: 'api_key' },
      { target_field: 'configurations.custom_headers.X-Team', secret_key: 'team' },
    ]);
    const before = vault.received.length;
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(slug)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(sentKeys())).toEqual(new Set(['Bearer sk-canary-one']));
    expect(inference.upstream.reached[0]!.headers['x-team']).toBe('T');
    const reads = vault.received.slice(before).filter(({ path }) => path.includes('/data/'));
    expect(reads).toHaveLength(1);
    const rows = await inference.server.app.database.db
      .selectFrom('integrations')
      .selectAll()
      .execute();
    const visible = JSON.stringify([rows, answers, inference.server.logLines]);
    expect(visible).not.toContain('canary');
  });

  it('is recorded in the audit log as read, by each process once a minute, without its value', async () => {
    const { slug, reference } = await make({ api_key: 'sk-canary-told' });
    const { server } = inference;
    const { clock, settings } = server;
    const readSharedTime = async () => clock.now();
    const log = createLog({ level: 'error', destination: { write: () => true } });
    const replica = await createApp(settings, { clock, readSharedTime, log });
    const { inferenceUrl } = await replica.listen();
    const answers = await Promise.all([1, 2, 3].map(() => ask(slug, {}, inferenceUrl!)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    await replica[Symbol.asyncDispose]();
    const { body } = await server.request('GET', '/v1/audit-logs?action=read');
    // The other process records its own reads when it has run for a minute.
    const [row, ...others] = body.data.filter((one: object) =>
      JSON.stringify(one).includes(reference.id),
    );
    expect(others).toEqual([]);
    expect(row).toMatchObject({ resource_type: 'SecretReference', actor_id: 'gateway' });
    expect(row.metadata).toMatchObject({
      reads: 1,
      elsewhere: 0,
      references: [{ id: reference.id, reader: 'inference', reads: 1 }],
    });
    expect(JSON.stringify(body)).not.toContain('canary');
  });

  it('changes within its lifetime, at once with its reference, and stays during an outage of the manager', async () => {
    const { slug, path, reference } = await make({ api_key: 'sk-one' });
    await ask(slug);
    content.secrets[path] = { api_key: 'sk-two' };
    inference.server.clock.advance(11 * minute);
    await ask(slug);
    content.outage = 503;
    inference.server.clock.advance(11 * minute);
    expect((await ask(slug)).status).toBe(200);
    expect(sentKeys()).toEqual(['Bearer sk-one', 'Bearer sk-two', 'Bearer sk-two']);
    delete content.outage;
    content.secrets['secret/moved'] = { api_key: 'sk-three' };
    await put(`/v2/secret-references/${reference.id}`, { secret_path: 'secret/data/moved' });
    await expect
      .poll(async () => {
        await ask(slug);
        return sentKeys().at(-1);
      })
      .toBe('Bearer sk-three');
  });

  it('returns an error of its own when it is unavailable: no 401, no address and no provider call', async () => {
    const missing = await make({ other: 'x' });
    const down = await make({ api_key: 'x' });
    const wrong = await make({ api_key: 'line\nbreak' });
    const refused = async (slug: string) => {
      const answer = await ask(slug);
      expect(JSON.stringify(answer.body)).not.toContain('127.0.0.1');
      return [answer.status, answer.body.error.code];
    };
    expect(await refused(missing.slug)).toEqual([502, 'secret_unavailable']);
    expect(await refused(wrong.slug)).toEqual([502, 'secret_unavailable']);
    content.outage = 500;
    expect(await refused(down.slug)).toEqual([502, 'secret_unavailable']);
    expect(inference.upstream.reached).toEqual([]);
    delete content.outage;
    inference.server.clock.advance(minute);
    expect((await ask(down.slug)).status).toBe(200);
  });

  it('triggers the next target of the config when it is unavailable', async () => {
    const missing = await make({ other: 'x' });
    const sound = await make({ api_key: 'sk-sound' });
    const targets = [missing, sound].map(({ slug }) => ({ provider: `@${slug}` }));
    const config = JSON.stringify({ strategy: { mode: 'fallback' }, targets });
    const answer = await ask(missing.slug, { 'x-gateway-config': config });
    expect([answer.status, sentKeys()]).toEqual([200, ['Bearer sk-sound']]);
  });

  it('stays during an outage when another field of its reference changes', async () => {
    const { slug, reference } = await make({ api_key: 'sk-kept' });
    await ask(slug);
    content.outage = 503;
    await put(`/v2/secret-references/${reference.id}`, { name: 'renamed', tags: { a: 'b' } });
    inference.server.clock.advance(11 * minute);
    expect((await ask(slug)).status).toBe(200);
    expect(sentKeys()).toEqual(['Bearer sk-kept', 'Bearer sk-kept']);
  });

  it('is withheld from a workspace within a second after the workspace loses access to the reference', async () => {
    const { slug, reference } = await make({ api_key: 'sk' });
    expect((await ask(slug)).status).toBe(200);
    await put(`/v2/secret-references/${reference.id}`, { allowed_workspaces: [other.id] });
    await expect.poll(async () => (await ask(slug)).body.error?.code).toBe('provider_not_allowed');
  });
});
