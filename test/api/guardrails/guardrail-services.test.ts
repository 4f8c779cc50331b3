/**
 * Verifies checks that services run in a whole gateway: accounts of providers, secrets, saved guardrails, and the
 * fail mode.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let workspace: { readonly id: string };
let key: string;

const canary = 'canary-of-a-service';
const categories = ['hate', 'violence'];

/** Answers moderations and scans, and chats otherwise. */
function answersServices(reply: {
  readonly flags?: object;
  readonly scan?: object | number;
}): void {
  inference.upstream.script = ({ url }, response) => {
    const { flags, scan } = reply;
    if (url.endsWith('/moderations')) {
      sendJson(response, { results: [{ flagged: true, categories: flags }] });
    } else if (typeof scan === 'number' && url.includes('/scan/')) {
      response.writeHead(scan).end(canary);
    } else {
      sendJson(response, url.includes('/scan/') ? scan! : chatAnswer);
    }
  };
}

const send = (method: string, path: string, body: object) =>
  inference.server.request(method, path, { body });

/** The address of the upstream without its path. */
const origin = (): string => new URL(inference.upstream.url).origin;

const airs = (parameters: object = {}) => ({
  id: 'panw-prisma-airs.intercept',
  parameters: { endpoint: origin(), credentials: { AIRS_API_KEY: canary }, ...parameters },
});

async function save(checks: readonly object[], actions: object = { deny: true }) {
  const saved = await send('POST', '/v2/guardrails', {
    name: 'services',
    workspace_id: workspace.id,
    checks,
    actions,
  });
  expect(saved).toMatchObject({ status: 200 });
  return saved.body as { readonly id: string; readonly slug: string };
}

const chatWith = (slug: string, content: string) =>
  inference.chat(key, {
    config: { input_guardrails: [slug] },
    params: { messages: [{ role: 'user', content }] },
  });

const requestsTo = (path: string) =>
  inference.upstream.reached.filter(({ url }) => url.endsWith(path));

beforeAll(async () => {
  inference = await startInference();
  const made = await send('POST', '/v1/admin/workspaces', { name: 'moderated' });
  workspace = made.body;
  ({ key } = await inference.addKey({ workspace_id: workspace.id }));
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
});

afterAll(() => inference[Symbol.asyncDispose]());

describe('a check with the account of a provider', () => {
  const moderate = (parameters: object = {}) => ({
    id: 'portkey.moderateContent',
    parameters: { categories, ...parameters },
  });

  it('denies while the workspace has no such provider, and says why', async () => {
    const { slug } = await save([moderate()]);
    const answer = await chatWith(slug, 'hello');
    expect(answer.status).toBe(446);
    expect(JSON.stringify(answer.body)).toContain(
      'the workspace has no provider at OpenAI or Mistral',
    );
    expect(requestsTo('/chat/completions')).toHaveLength(0);
  });

  it('asks the provider of the workspace with its key, and denies what it flags', async () => {
    const made = await send('POST', '/v1/integrations', {
      name: 'moderator',
      ai_provider_id: 'openai',
      workspace_id: workspace.id,
      key: 'canary-provider-key',
      configurations: { custom_host: inference.upstream.url },
    });
    expect(made).toMatchObject({ status: 200 });
    const provider = await send('POST', '/v1/providers', {
      name: 'moderator',
      slug: 'moderator',
      integration_id: made.body.id,
      workspace_id: workspace.id,
    });
    expect(provider).toMatchObject({ status: 200 });
    const { slug } = await save([moderate()]);
    answersServices({ flags: { hate: false, violence: true } });
    const denied = await chatWith(slug, 'a fight');
    expect(denied).toMatchObject({
      status: 446,
      body: { hook_results: { before_request_hooks: [{ checks: [{ verdict: false }] }] } },
    });
    expect(requestsTo('/moderations')[0]!.headers.authorization).toBe('Bearer canary-provider-key');
    answersServices({ flags: { hate: false, violence: false } });
    expect(await chatWith(slug, 'peace')).toMatchObject({ status: 200 });
    expect(JSON.stringify(denied.body)).not.toContain('canary');
    const named = await save([moderate({ provider: '@moderator' })]);
    expect(await chatWith(named.slug, 'by name')).toMatchObject({ status: 200 });
    const missing = await save([moderate({ provider: '@missing' })]);
    expect(await chatWith(missing.slug, 'missing')).toMatchObject({ status: 446 });
  });
});

describe('a check with credentials of its own', () => {
  it('sends them to the service and to nobody else', async () => {
    const { id, slug } = await save([airs()]);
    const { body } = await inference.server.request('GET', `/v2/guardrails/${id}`);
    expect(body.checks[0].parameters.credentials).toEqual({ AIRS_API_KEY: '********' });
    answersServices({ scan: { action: 'block', prompt_detected: { injection: true } } });
    const answer = await chatWith(slug, 'ignore all');
    expect(answer.status).toBe(446);
    expect(JSON.stringify(answer.body)).not.toContain(canary);
    expect(requestsTo('/v1/scan/sync/request')[0]!.headers['x-pan-token']).toBe(canary);
  });

  it('keeps a masked one while address and hosts stay, and asks for it again otherwise', async () => {
    const masked = { AIRS_API_KEY: '********' };
    const { id } = await save([airs()]);
    const put = (checks: readonly object[]) => send('PUT', `/v2/guardrails/${id}`, { checks });
    expect(await put([airs({ credentials: masked })])).toMatchObject({ status: 200 });
    const moved = await put([airs({ credentials: masked, endpoint: inference.nowhere })]);
    expect(moved).toMatchObject({ status: 400 });
    expect(moved.body.error.message).toContain('must be sent again');
    const check = (credentials: object) => ({
      id: 'pangea.textGuard',
      parameters: { credentials },
    });
    const partner = await save([check({ apiKey: canary, domain: 'aws.us.pangea.cloud' })]);
    const change = (credentials: object) =>
      send('PUT', `/v2/guardrails/${partner.id}`, { checks: [check(credentials)] });
    const stays = { apiKey: '********', domain: '********' };
    expect(await change(stays)).toMatchObject({ status: 200 });
    const stolen = await change({ apiKey: '********', domain: 'evil.example.com' });
    expect(stolen).toMatchObject({ status: 400 });
    expect(stolen.body.error.message).toContain('must be sent again');
    expect(await change({ apiKey: canary, domain: 'eu.pangea.cloud' })).toMatchObject({
      status: 200,
    });
  });

  it('decides by the fail mode when the service fails, and quotes nothing of it', async () => {
    answersServices({ scan: 500 });
    const closed = await save([airs()]);
    const open = await save([airs({ failOnError: false })]);
    const denied = await chatWith(closed.slug, 'one');
    expect(denied.status).toBe(446);
    expect(JSON.stringify(denied.body)).toContain('Prisma AIRS returned status 500');
    expect(JSON.stringify(denied.body)).not.toContain(canary);
    expect((await chatWith(open.slug, 'two')).status).toBe(200);
  });
});

describe('saving a check of a service', () => {
  const saving = (check: object) =>
    send('POST', '/v2/guardrails', { name: 'x', checks: [check], actions: {} });

  it('warns when it has no account', async () => {
    const saved = await saving({ id: 'patronus.toxicity' });
    expect(saved.status).toBe(200);
    expect(JSON.stringify(saved)).toContain('so the check cannot judge');
  });

  it.each([
    [{ id: 'exa.online' }, 'judges nothing, so this gateway cannot run it'],
    [{ id: 'portkey.dataservice' }, 'no published format, so this gateway cannot run it'],
    [{ id: 'lasso.classify', parameters: { endpoint: 'http://10.0.0.1' } }, 'private'],
    [{ id: 'lasso.classify', parameters: { credentials: { a: { apiKey: 'x' } } } }, 'credentials'],
    [{ id: 'azure.pii', parameters: { redact: 'yes' } }, 'redact'],
    [
      { id: 'bedrock.guard', parameters: { guardrailId: 'a', guardrailVersion: '1', region: 'x' } },
      'region',
    ],
    [
      {
        id: 'azure.pii',
        parameters: { provider: 'a', endpoint: 'https://a.example.com' },
      },
      'must be absent beside provider',
    ],
  ])('refuses %j', async (check, message) => {
    const saved = await saving(check);
    expect(saved.status).toBe(400);
    expect(JSON.stringify(saved.body)).toContain(message);
  });
});
