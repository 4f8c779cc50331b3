/**
 * Verifies that secrets in saved configs are sealed, masked in every response, and kept by a mask only for
 * the places that they are sent to already.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sealPlainDocuments } from '../../../src/auth/plain-documents.ts';
import { dumpDatabase } from '../../support/database/dump.ts';
import { secretDocuments } from '../../support/interface/config-secret-documents.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { logIsWritten } from '../../support/server/request-log.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

const canary = 'sk-canary-of-a-config';
const mask = '********';
let inference: Inference;
beforeAll(async () => {
  inference = await startInference();
});
afterAll(() => inference[Symbol.asyncDispose]());

const send = (method: string, path: string, body?: object) =>
  inference.server.request(method, path, body === undefined ? {} : { body });
const get = async (id: string) => (await send('GET', `/v2/configs/${id}`)).body;
const put = (id: string, config: object) => send('PUT', `/v2/configs/${id}`, { config });

async function make(config: object): Promise<{ id: string; slug: string }> {
  const made = await send('POST', '/v2/configs', { name: 'keys', config });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

/** A document with one target. */
const routed = (more: object = {}, root: object = {}) => ({
  ...root,
  targets: [{ provider: 'openai', custom_host: inference.upstream.url, api_key: canary, ...more }],
});
const masked = (more: object = {}, root: object = {}) => routed({ api_key: mask, ...more }, root);

async function storedTexts(id: string): Promise<string> {
  const { db } = inference.server.database;
  const config = await db.selectFrom('configs').select('config').where('id', '=', id).execute();
  const versions = await db.selectFrom('config_versions').select('config').execute();
  return JSON.stringify([config, versions]);
}

describe('every secret of a config', () => {
  it('appears in no response, audit row, log line or table', async () => {
    const documents = secretDocuments({ provider: 'openai' });
    expect(documents.length).toBeGreaterThan(50);
    const seen: unknown[] = [];
    for (const { pattern, document, canaries } of documents) {
      const made = await send('POST', '/v2/configs', { name: pattern, config: document });
      expect([pattern, made.status, made.body]).toEqual([pattern, 200, expect.anything()]);
      const { id } = made.body;
      const record = await send('GET', `/v2/configs/${id}`);
      expect(record.body.config.split(mask)).toHaveLength(canaries.length + 1);
      const again = await put(id, { ...JSON.parse(record.body.config), retry: { attempts: 1 } });
      expect([pattern, again.status, again.body]).toEqual([pattern, 200, expect.anything()]);
      const versions = await send('GET', `/v2/configs/${id}/versions`);
      seen.push(made, record, again, versions);
    }
    const change = { kind: 'Config', action: 'create', body: { name: 'set', config: routed() } };
    for (const mode of ['independent', 'atomic']) {
      const set = await send('POST', '/admin/v2/gatewright/changes', { mode, changes: [change] });
      expect([set.status, set.body.applied]).toEqual([200, 1]);
      seen.push(set);
    }
    const reads = ['/v2/configs', '/admin/v2/gatewright/snapshot?owner=platform', '/v1/audit-logs'];
    for (const path of reads) {
      const answer = await send('GET', path);
      expect([path, answer.status]).toEqual([path, 200]);
      seen.push(answer);
    }
    const { logLines, database } = inference.server;
    const text = JSON.stringify([seen, logLines]) + (await dumpDatabase(database.db));
    expect(text.match(/.{0,80}canary-.{0,40}/)).toBeNull();
    expect(JSON.stringify(seen)).not.toContain('$sealed');
  });

  it('reaches the provider in plain text, and stays out of its log row', async () => {
    const tools = [
      { type: 'mcp', server_url: 'https://tools.example.com', headers: { A: canary } },
    ];
    const { slug } = await make(routed({ override_params: { tools } }));
    const { key } = await inference.addKey();
    inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
    const headers = { 'x-gateway-config': slug };
    expect((await inference.chat(key, { config: null, headers })).status).toBe(200);
    const { headers: sent, body } = inference.upstream.reached.at(-1)!;
    expect(sent.authorization).toBe(`Bearer ${canary}`);
    expect(JSON.parse(`${body}`).tools[0].headers.A).toBe(canary);
    await logIsWritten(inference.server);
    const { logLines, database } = inference.server;
    expect(JSON.stringify(logLines) + (await dumpDatabase(database.db))).not.toContain(canary);
  });

  it('is not sent to a host that only a header names', async () => {
    const config = { override_params: { tools: [{ headers: { A: canary } }] } };
    const { slug } = await make(config);
    const { key } = await inference.addKey();
    const before = inference.upstream.reached.length;
    const headers = {
      'x-gateway-config': slug,
      'x-gateway-provider': 'ollama',
      'x-gateway-custom-host': inference.upstream.url,
    };
    const refused = await inference.chat(key, { config: null, headers });
    expect([refused.status, refused.body.error.code]).toEqual([400, 'provider_missing']);
    expect(inference.upstream.reached).toHaveLength(before);
  });
});

describe('a mask', () => {
  it.each<[string, () => object]>([
    ['another part changes', () => masked({ weight: 3 }, { retry: { attempts: 2 } })],
    ['the path of the host changes', () => masked({ custom_host: `${inference.upstream.url}/x` })],
    ['a field that decides no address changes', () => masked({ azure_api_version: '2026-01-01' })],
  ])('keeps the stored value when %s', async (_, changed) => {
    const { id, slug } = await make(routed());
    expect(await put(id, changed())).toMatchObject({ status: 200 });
    expect(JSON.parse((await get(id)).config).targets[0].api_key).toBe(mask);
    const { key } = await inference.addKey();
    await inference.chat(key, { config: null, headers: { 'x-gateway-config': slug } });
    expect(inference.upstream.reached.at(-1)!.headers.authorization).toBe(`Bearer ${canary}`);
  });

  const azure = { provider: 'azure-openai', custom_host: undefined, azure_resource_name: 'ours' };
  const elsewhere = 'https://other.example/v1';
  it.each<[string, () => object, () => object]>([
    ['the host of its target', () => routed(), () => masked({ custom_host: elsewhere })],
    ['the provider of its target', () => routed(), () => masked({ provider: 'anthropic' })],
    [
      'an inherited host',
      () => routed({ custom_host: undefined }),
      () => masked({ custom_host: undefined }, { custom_host: elsewhere }),
    ],
    [
      'an inherited provider',
      () => routed({ provider: undefined }, { provider: 'openai' }),
      () => masked({ provider: undefined }, { provider: 'groq' }),
    ],
    [
      'the resource of an account',
      () => routed(azure),
      () => masked({ ...azure, azure_resource_name: 'theirs' }),
    ],
    [
      'the alias of the resource of an account',
      () => routed({ ...azure, azure_resource_name: undefined, resource_name: 'ours' }),
      () => masked({ ...azure, azure_resource_name: undefined, resource_name: 'theirs' }),
    ],
    [
      'the selection of the provider by requests',
      () => routed(),
      () => masked({ provider: undefined, passthrough: true }),
    ],
  ])('asks for the value again when it changes %s', async (_, document, changed) => {
    const { id } = await make(document());
    const moved = await put(id, changed());
    expect([moved.status, moved.body.error.param]).toEqual([400, 'config.targets[0].api_key']);
    expect(moved.body.error.message).toContain('must be sent again');
    const resent = JSON.parse(JSON.stringify(changed()).replaceAll(mask, 'sk-new'));
    expect(await put(id, resent)).toMatchObject({ status: 200 });
  });

  it('asks again for an inherited key when another target begins to use it', async () => {
    const target = { name: 'one', weight: 1 };
    const root = { provider: 'openai', api_key: canary, strategy: { mode: 'loadbalance' } };
    const { id } = await make({ ...root, targets: [target] });
    const added = { custom_host: elsewhere };
    const moved = await put(id, { ...root, api_key: mask, targets: [target, added] });
    expect([moved.status, moved.body.error.param]).toEqual([400, 'config.api_key']);
    const own = { ...added, provider: 'openai', api_key: 'sk-own' };
    const pinned = await put(id, { ...root, api_key: mask, targets: [target, own] });
    expect(pinned).toMatchObject({ status: 200 });
  });

  it.each<[string, (name: string) => object]>([
    ['equal', () => ({})],
    ['equally named', (name) => ({ name })],
  ])('follows %s targets that change their order', async (_, more) => {
    const target = (name: string, api_key: string) => ({
      provider: 'openai',
      custom_host: `${inference.upstream.url}/${name}`,
      api_key,
      ...more(name),
    });
    const single = { strategy: { mode: 'single' } };
    const targets = [target('a', 'k-a'), target('b', 'k-b')];
    const { id, slug } = await make({ ...single, targets });
    const isNamed = 'name' in targets[0]!;
    const sent = isNamed
      ? [target('b', mask), target('a', mask)].map((one) => ({ ...one, weight: 2 }))
      : JSON.parse((await get(id)).config).targets.toReversed();
    expect(await put(id, { ...single, targets: sent })).toMatchObject({ status: 200 });
    const { key } = await inference.addKey();
    await inference.chat(key, { config: null, headers: { 'x-gateway-config': slug } });
    const { headers, url } = inference.upstream.reached.at(-1)!;
    expect([headers.authorization, url]).toEqual(['Bearer k-b', expect.stringContaining('/b/')]);
  });

  it('asks again for parameters of a target that moves, and for headers of a check that moves', async () => {
    const hook = (webhookURL: string, token: string) => ({
      checks: [{ id: 'default.webhook', parameters: { webhookURL, headers: { token } } }],
    });
    const document = (host: string, hooks: string, secret: string) => ({
      custom_host: host,
      provider: 'openai',
      override_params: { tools: [{ headers: { token: secret } }] },
      before_request_hooks: [hook(hooks, secret)],
    });
    const [one, two] = ['https://one.example', 'https://two.example'];
    const { id } = await make(document(one, one, canary));
    const movedHost = await put(id, document(two, one, mask));
    expect([movedHost.status, movedHost.body.error.param]).toEqual([
      400,
      'config.override_params.tools[0].headers.token',
    ]);
    const movedHook = await put(id, document(one, two, mask));
    expect([movedHook.status, movedHook.body.error.param]).toEqual([
      400,
      'config.before_request_hooks[0].checks[0].parameters.headers.token',
    ]);
    expect(await put(id, document(one, `${one}/path`, mask))).toMatchObject({ status: 200 });
  });

  it('is refused where no value is stored, and so is the stored form', async () => {
    const made = await send('POST', '/v2/configs', { name: 'masked', config: masked() });
    expect([made.status, made.body.error.param]).toEqual([400, 'config.targets[0].api_key']);
    const forged = { override_params: { password: { $sealed: 'v1.a.b.c' } } };
    const refused = await send('POST', '/v2/configs', { name: 'forged', config: forged });
    expect([refused.status, refused.body.error.param]).toEqual([
      400,
      'config.override_params.password',
    ]);
  });
});

describe('a config whose secrets an older version stored as text', () => {
  async function makePlain(): Promise<{ id: string; slug: string }> {
    const made = await make(routed());
    const { db } = inference.server.database;
    const config = JSON.stringify(routed());
    await db.updateTable('configs').set({ config }).where('id', '=', made.id).execute();
    await db.updateTable('config_versions').set({ config }).execute();
    expect(await storedTexts(made.id)).toContain(canary);
    return made;
  }

  it('works, is masked, and is sealed when it is next written', async () => {
    const { id, slug } = await makePlain();
    expect((await get(id)).config).not.toContain(canary);
    const { key } = await inference.addKey();
    await inference.chat(key, { config: null, headers: { 'x-gateway-config': slug } });
    expect(inference.upstream.reached.at(-1)!.headers.authorization).toBe(`Bearer ${canary}`);
    expect(await put(id, masked())).toMatchObject({ status: 200 });
    const { db } = inference.server.database;
    const row = await db.selectFrom('configs').select('config').where('id', '=', id).execute();
    expect(JSON.stringify(row)).not.toContain(canary);
  });

  it('is sealed with all its versions by a rotation, without a new version', async () => {
    const { id } = await makePlain();
    const { body: before, headers } = await send('GET', `/v2/configs/${id}`);
    const { database, app } = inference.server;
    const { signal } = new AbortController();
    expect(await sealPlainDocuments(database, app.keyring, signal)).toBeGreaterThan(1);
    expect(await storedTexts(id)).not.toContain(canary);
    const after = await send('GET', `/v2/configs/${id}`);
    expect([after.body, after.headers.etag]).toEqual([before, headers.etag]);
    expect(await sealPlainDocuments(database, app.keyring, signal)).toBe(0);
  });
});
