/**
 * Verifies prompts: versions, publishing, labels, collections, partials, and rendering in the
 * gateway.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { idToBytes } from '../../../src/model/wire/ids.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { addUser } from '../../support/server/people.ts';
import type { TestServer } from '../../support/server/server.ts';
import { addTenant } from '../../support/server/tenant.ts';
import { leaseHeaders } from '../../support/sync/lease.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let server: TestServer;
let workspaceId: string;
let otherId: string;
beforeAll(async () => {
  inference = await startInference();
  ({ server } = inference);
  workspaceId = (await ask('POST', '/admin/workspaces', { name: 'Support' })).id;
  otherId = (await ask('POST', '/admin/workspaces', { name: 'Sales' })).id;
});
afterAll(() => inference[Symbol.asyncDispose]());

type Body = Record<string, unknown>;

const send = (method: string, path: string, body?: Body) =>
  server.request(method, `/v1${path}`, { body, auth: 'key' });

async function ask(method: string, path: string, body?: Body) {
  const { status, body: answer } = await send(method, path, body);
  expect({ path, status, answer }).toMatchObject({ status: 200 });
  return answer;
}

const makePrompt = (more: Body = {}) =>
  ask('POST', '/prompts', { name: 'hello', workspace_id: workspaceId, string: 'Hi', ...more });

describe('versions of a prompt', () => {
  it('creates no version for a new name, and one for a new template that is used after publishing', async () => {
    const { id, slug, version_id } = await makePrompt({ parameters: { a: 1 }, model: 'm' });
    expect(slug).toMatch(/^pp-hello-[0-9a-f]{6}$/);
    // Clients send this without changing the parameters.
    expect(await ask('PUT', `/prompts/${slug}`, { name: 'bye', parameters: null })).toEqual({});
    const first = await ask('GET', `/prompts/${id}`);
    expect(first).toMatchObject({ name: 'bye', prompt_version: 1, prompt_version_id: version_id });
    expect(first).toMatchObject({ parameters: { a: 1, model: 'm' }, is_raw_template: 0 });
    const put = await ask('PUT', `/prompts/${slug}`, { string: 'Bye', version_description: 'two' });
    expect(put).toMatchObject({ id, slug, object: 'prompt' });
    expect(await ask('GET', `/prompts/${slug}`)).toMatchObject({ string: 'Hi', prompt_version: 1 });
    const { data, total } = await ask('GET', `/prompts/${slug}/versions`);
    expect([total, data.map((one: Body) => one.prompt_version)]).toEqual([2, [2, 1]]);
    expect(data[0]).toMatchObject({ id: put.prompt_version_id, prompt_template: 'Bye' });
    expect(await ask('PUT', `/prompts/${slug}/makeDefault`, { version: 2 })).toEqual({});
    const second = await ask('GET', `/prompts/${slug}`);
    expect(second).toMatchObject({ string: 'Bye', prompt_version: 2, model: 'm' });
    expect(await ask('GET', `/prompts/${slug}?version=1`)).toMatchObject({ string: 'Hi' });
    await ask('DELETE', `/prompts/${slug}`);
    expect((await send('GET', `/prompts/${slug}`)).status).toBe(404);
  });

  it('creates no version for another provider, which applies to the latest and the published version', async () => {
    const { id } = await makePrompt({ virtual_key: 'one' });
    await ask('PUT', `/prompts/${id}`, { string: 'Bye' });
    expect(await ask('PUT', `/prompts/${id}`, { virtual_key: '@two', parameters: null })).toEqual(
      {},
    );
    for (const version of ['default', 'latest']) {
      const reported = await ask('GET', `/prompts/${id}?version=${version}`);
      expect(reported).toMatchObject({ virtual_key: 'two' });
    }
    expect((await ask('GET', `/prompts/${id}/versions`)).total).toBe(2);
  });

  it('compares a manifest with the published version, and publishes it at once', async () => {
    const { id } = await makePrompt();
    const managed_by = {
      owner: 'platform',
      workspace: null,
      name: 'hello',
      last_applied: {},
      source: { repo: 'https://git.example.com/a', revision: 'a1' },
    };
    const headers = await leaseHeaders(server.request, 'platform');
    const apply = (string: string) =>
      server.request('PUT', `/v2/prompts/${id}`, { body: { string, managed_by }, headers });
    expect((await apply('Bye')).status).toBe(200);
    expect(await ask('GET', `/prompts/${id}`)).toMatchObject({ string: 'Bye', prompt_version: 2 });
    await ask('PUT', `/prompts/${id}/makeDefault`, { version: 1 });
    expect((await apply('Bye')).status).toBe(200);
    expect(await ask('GET', `/prompts/${id}`)).toMatchObject({ string: 'Bye', prompt_version: 3 });
  });

  it('keeps the latest hundred versions, the published one and those with a label', async () => {
    const { id } = await makePrompt({ string: '0' });
    const { id: label_id } = await ask('POST', '/labels', { name: 'kept' });
    for (const string of ['1', '2', '3']) await ask('PUT', `/prompts/${id}`, { string });
    await ask('PUT', `/prompts/${id}/versions/3`, { label_id });
    // Simulates a hundred more versions.
    await server.database.db
      .updateTable('prompt_versions')
      .set({ number: 104 })
      .where('organisation_id', '=', server.organisationId)
      .where('resource_id', '=', idToBytes(id))
      .where('number', '=', 4)
      .execute();
    await ask('PUT', `/prompts/${id}`, { string: '4' });
    const { data } = await ask('GET', `/prompts/${id}/versions`);
    expect(data.map((one: Body) => one.prompt_version)).toEqual([105, 104, 3, 1]);
  });

  it('numbers concurrent changes uniquely', async () => {
    const { id } = await makePrompt();
    const texts = Array.from({ length: 12 }, (_, at) => `text ${at}`);
    await Promise.all(texts.map((string) => ask('PUT', `/prompts/${id}`, { string })));
    const { data } = await ask('GET', `/prompts/${id}/versions`);
    const numbers = data.map((one: Body) => one.prompt_version);
    expect(numbers).toEqual(Array.from({ length: 13 }, (_, at) => 13 - at));
  });
});

describe('labels', () => {
  it('is on one version of a prompt, can be moved, and is removed on deletion', async () => {
    const { id } = await makePrompt();
    await ask('PUT', `/prompts/${id}`, { string: 'Bye' });
    const { id: label_id } = await ask('POST', '/labels', {
      name: 'stage',
      workspace_id: workspaceId,
    });
    for (const version of [1, 2]) {
      await ask('PUT', `/prompts/${id}/versions/${version}`, { label_id });
      const reported = await ask('GET', `/prompts/${id}?version=stage`);
      expect(reported).toMatchObject({
        prompt_version: version,
        prompt_version_label_name: 'stage',
      });
    }
    expect(await ask('GET', `/prompts/${id}/versions/1`)).toMatchObject({
      prompt_version_label_id: null,
      prompt_version_labels: [],
    });
    await ask('DELETE', `/labels/${label_id}`);
    expect((await send('GET', `/prompts/${id}?version=stage`)).status).toBe(404);
    expect(await ask('GET', `/prompts/${id}/versions/2`)).toMatchObject({
      prompt_version_label_id: null,
    });
  });

  it('is rejected when it belongs to another workspace or repeats a name', async () => {
    const { id } = await makePrompt();
    const { id: label_id } = await ask('POST', '/labels', { name: 'far', workspace_id: otherId });
    const refused = await send('PUT', `/prompts/${id}/versions/1`, { label_id });
    expect(refused).toMatchObject({ status: 400, body: { error: { param: 'label_id' } } });
    const twin = await send('POST', '/labels', { name: 'far', workspace_id: otherId });
    expect(twin).toMatchObject({ status: 409, body: { error: { param: 'name' } } });
    await ask('POST', '/labels', { name: 'far', workspace_id: workspaceId });
    for (const name of ['latest', 'default', '12', 'a b']) {
      expect((await send('POST', '/labels', { name })).status, name).toBe(400);
    }
    const { data } = await ask('GET', `/labels?workspace_id=${workspaceId}&search=fa`);
    expect(data).toMatchObject([{ name: 'far', workspace_id: workspaceId, is_universal: false }]);
  });
});

describe('collections', () => {
  const listed = async (of: string) =>
    (await ask('GET', `/collections?workspace_id=${of}`)).data as Body[];

  it('includes a default for every workspace, which accepts prompts and cannot be deleted', async () => {
    const { id } = await ask('POST', '/admin/workspaces', { name: 'New' });
    const [first, ...others] = await listed(id);
    expect(others).toEqual([]);
    expect(first).toMatchObject({ is_default: 1, parent_collection_id: null, status: 'active' });
    const prompt = await makePrompt({ workspace_id: id });
    expect(await ask('GET', `/prompts/${prompt.id}`)).toMatchObject({ collection_id: first!.id });
    expect((await send('DELETE', `/collections/${first!.id}`)).status).toBe(404);
    const blocked = await send('DELETE', `/admin/workspaces/${id}`, { name: 'New' });
    expect(blocked).toMatchObject({ status: 409 });
    expect(blocked.body.error.message).toContain('holds 1 Prompt;');
    await ask('DELETE', `/admin/workspaces/${id}`, { name: 'New', force_delete: true });
    expect((await send('GET', `/prompts/${prompt.id}`)).status).toBe(404);
    expect((await send('GET', `/collections/${first!.id}`)).status).toBe(404);
  });

  it('can be nested, lists its contents, and is deleted when it is empty', async () => {
    const place = { workspace_id: workspaceId };
    const parent = await ask('POST', '/collections', { ...place, name: 'Answers' });
    expect(parent.slug).toMatch(/^co-answer-[0-9a-f]{6}$/);
    const child = await ask('POST', '/collections', {
      ...place,
      name: 'Mails',
      parent_collection_id: parent.slug,
    });
    const prompt = await ask('POST', '/prompts', {
      name: 'hello',
      collection_id: child.id,
      string: 'Hi',
      parameters: {},
    });
    expect(await ask('GET', `/prompts/${prompt.id}`)).toMatchObject(place);
    const reported = await ask('GET', `/collections/${parent.slug}`);
    expect(reported.child_collections).toMatchObject([
      { id: child.id, collection_details: { prompts_count: 1, child_collections_count: 0 } },
    ]);
    const item = (await listed(workspaceId)).find(({ id }) => id === parent.id);
    expect(item).toMatchObject({ collection_details: { child_collections_count: 1 } });
    for (const { id } of [parent, child]) {
      expect((await send('DELETE', `/collections/${id}`)).status).toBe(409);
    }
    const moved = { collection_id: parent.id };
    await ask('PUT', `/prompts/${prompt.id}`, moved);
    await ask('DELETE', `/collections/${child.id}`);
    const { data } = await ask('GET', `/prompts?collection_id=${parent.slug}&search=HELL`);
    expect(data).toMatchObject([{ id: prompt.id, collection_id: parent.id, object: 'prompt' }]);
  });

  it('can be moved within its workspace, and never into its own descendants', async () => {
    const place = { workspace_id: workspaceId };
    const make = async (name: string) => (await ask('POST', '/collections', { ...place, name })).id;
    const put = (id: string, parent: unknown) =>
      send('PUT', `/collections/${id}`, { parent_collection_id: parent });
    const parentOf = async (id: string) =>
      (await ask('GET', `/collections/${id}`)).parent_collection_id;
    const [one, two, three] = [await make('One'), await make('Two'), await make('Three')];
    for (const [id, parent] of [
      [two, one],
      [three, two],
    ] as const) {
      expect((await put(id, parent)).status).toBe(200);
      expect(await parentOf(id)).toBe(parent);
    }
    const [first] = (await listed(workspaceId)).filter((row) => row.is_default === 1);
    for (const [id, parent] of [
      [one, one],
      [one, three],
      [first!.id, one],
    ] as const) {
      const refused = { status: 400, body: { error: { param: 'parent_collection_id' } } };
      expect(await put(String(id), parent)).toMatchObject(refused);
    }
    const far = await ask('POST', '/collections', { name: 'far off', workspace_id: otherId });
    expect((await put(one, far.id)).status).toBe(404);
    expect((await put(three, null)).status).toBe(200);
    expect(await parentOf(three)).toBe(null);
    await ask('PUT', `/collections/${two}`, { parent_collection_id: null });
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all([put(one, two), put(two, three), put(three, one)]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 400]);
      await Promise.all([one, two, three].map((id) => put(id, null)));
    }
  });

  it('returns 404 when it belongs to another workspace', async () => {
    const { id } = await ask('POST', '/collections', { name: 'far', workspace_id: otherId });
    const prompt = await makePrompt();
    const place = { workspace_id: workspaceId };
    for (const answer of [
      await send('POST', '/prompts', { name: 'p', string: 'Hi', collection_id: id, ...place }),
      await send('PUT', `/prompts/${prompt.id}`, { collection_id: id }),
    ]) {
      expect(answer).toMatchObject({ status: 404, body: { error: { param: 'collection_id' } } });
    }
    const body = { name: 'in', parent_collection_id: id, ...place };
    expect((await send('POST', '/collections', body)).status).toBe(404);
  });
});

it('versions partials like prompts', async () => {
  const made = await ask('POST', '/prompts/partials', { name: 'tone', string: 'Be kind.' });
  const path = `/prompts/partials/${made.slug}`;
  expect(await ask('PUT', path, { name: 'manners' })).toEqual({});
  const { prompt_partial_version_id: id } = await ask('PUT', path, { string: 'Be brief.' });
  const expected = { string: 'Be kind.', version: 1, prompt_partial_version_id: made.version_id };
  expect(await ask('GET', path)).toMatchObject(expected);
  const { data } = await ask('GET', `${path}/versions`);
  expect(data[0]).toMatchObject({ prompt_partial_version_id: id, version: 2 });
  await ask('PUT', `${path}/makeDefault`, { version: 2 });
  expect(await ask('GET', path)).toMatchObject({
    string: 'Be brief.',
    version: 2,
    name: 'manners',
  });
  expect((await ask('GET', '/prompts/partials')).data).toMatchObject([{ slug: made.slug }]);
  await ask('DELETE', path);
  expect((await send('GET', path)).status).toBe(404);
});

it('lists partials of the workspace of a collection', async () => {
  const place = { workspace_id: workspaceId };
  const { slug } = await ask('POST', '/prompts/partials', { ...place, name: 'a', string: 'A' });
  const { id } = await ask('POST', '/collections', { ...place, name: 'Partials' });
  const listed = (await ask('GET', `/prompts/partials?collection_id=${id}`)).data as Body[];
  expect(listed).toEqual(expect.arrayContaining([expect.objectContaining({ slug })]));
  const ofPlace = await ask('GET', `/prompts/partials?workspace_id=${workspaceId}`);
  expect(listed).toEqual(ofPlace.data);
  expect((await send('GET', '/prompts/partials?collection_id=none')).status).toBe(404);
});

it.each(['/prompts', '/prompts/partials'])(
  'accepts a version behind an @ in GET %s like rendering does, and rejects another one in the query',
  async (kind) => {
    const workspace_id = workspaceId;
    const { id, slug } = await ask('POST', kind, { name: 'n', workspace_id, string: 'one' });
    await ask('PUT', `${kind}/${slug}`, { string: 'two' });
    const readString = async (named: string) => (await ask('GET', `${kind}/${named}`)).string;
    const versions = ['1', '2', 'latest', 'default'];
    for (const name of [slug, id]) {
      const found = await Promise.all(versions.map((version) => readString(`${name}@${version}`)));
      expect(found).toEqual(['one', 'two', 'two', 'one']);
    }
    expect(await readString(`${slug}%40latest`)).toBe('two');
    expect(await readString(`${slug}@2?version=2`)).toBe('two');
    const two = await send('GET', `${kind}/${slug}@2?version=1`);
    expect(two).toMatchObject({ status: 400, body: { error: { param: 'version' } } });
    for (const none of [`${slug}@9`, `${slug}@`, `${slug}@none`, `@2`, `${slug}@1@2`]) {
      expect((await send('GET', `${kind}/${none}`)).status).toBe(404);
    }
    // A version is never changed, nor deleted individually.
    expect((await send('PUT', `${kind}/${slug}@2`, { name: 'm' })).status).toBe(404);
    expect((await send('DELETE', `${kind}/${slug}@2`)).status).toBe(404);
  },
);

describe('a prompt template', () => {
  it('is rejected with the position of a syntax error, also in a chat message', async () => {
    const chat = JSON.stringify([{ role: 'user', content: '{{#a}}' }]);
    for (const string of ['Hi {{name', chat]) {
      const refused = await send('POST', '/prompts', {
        name: 'p',
        string,
        workspace_id: workspaceId,
      });
      expect(refused).toMatchObject({ status: 400, body: { error: { param: 'string' } } });
    }
  });

  it('is rendered with partials, variables and the request body', async () => {
    await ask('POST', '/prompts/partials', { name: 'tone', slug: 'tone', string: 'Be {{how}}.' });
    const string = JSON.stringify([
      { role: 'system', content: [{ type: 'text', text: '{{>tone}}' }] },
      { role: 'user', content: 'Greet "{{name}}".' },
    ]);
    const { slug } = await makePrompt({ string, model: 'm', parameters: { temperature: 0, n: 1 } });
    const variables = { how: 'kind', name: '"Ada" <a@b>' };
    const rendered = await ask('POST', `/prompts/${slug}/render`, {
      variables,
      n: 2,
      promptID: slug,
    });
    expect(rendered).toEqual({
      success: true,
      data: {
        temperature: 0,
        model: 'm',
        n: 2,
        messages: [
          { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
          { role: 'user', content: 'Greet ""Ada" <a@b>".' },
        ],
      },
    });
    await ask('PUT', '/prompts/partials/tone', { status: 'archived' });
    const refused = await send('POST', `/prompts/${slug}/render`, { variables });
    expect(refused).toMatchObject({ status: 400 });
    expect(refused.body.error.message).toContain('There is no partial tone');
  });
});

it('is readable and editable as the workspace permits the role', async () => {
  const { id: place } = await ask('POST', '/admin/workspaces', {
    name: 'Seen',
    security_settings: { managersViewPrompts: false },
  });
  const { id } = await makePrompt({ workspace_id: place });
  const scopes = ['create', 'read', 'update', 'list'].map((action) => `prompts.${action}`);
  const statuses = async (role: string) => {
    const user_id = await addUser(server);
    await ask('POST', `/admin/workspaces/${place}/users`, { users: [{ id: user_id, role }] });
    const body = { name: role, user_id, workspace_id: place, scopes };
    const { key } = await ask('POST', '/api-keys/workspace/user', body);
    const headers = { 'x-gateway-api-key': key };
    const as = async (method: string, path: string, sent?: Body) =>
      (await server.request(method, `/v1${path}`, { auth: 'none', headers, body: sent })).status;
    return [
      await as('GET', `/prompts/${id}`),
      await as('GET', '/collections'),
      await as('PUT', `/prompts/${id}`, { name: role }),
      await as('POST', '/prompts/partials', { name: role, string: 'Be kind.' }),
    ];
  };
  expect(await statuses('member')).toEqual([200, 200, 403, 403]);
  expect(await statuses('manager')).toEqual([403, 403, 200, 200]);
  expect(await statuses('admin')).toEqual([200, 200, 200, 200]);
});

it('returns the same 404 to another tenant as for an unknown prompt', async () => {
  const other = await addTenant(server);
  const { id } = await makePrompt();
  const absent = '01a1ffa6-2a67-76f7-a225-ed57537ed994';
  for (const rest of ['', '/versions', '/versions/1']) {
    const [foreign, none] = await Promise.all(
      [id, absent].map((one) => other.send('GET', `/v1/prompts/${one}${rest}`)),
    );
    expect(foreign!.status).toBe(404);
    expect(foreign!.body).toEqual(none!.body);
  }
});

describe('a prompt in the gateway', () => {
  const scopes = ['completions.write', 'prompts.render'];
  const place = () => ({ workspace_id: workspaceId });
  let key: string;
  let slug: string;
  beforeAll(async () => {
    ({ key } = await inference.addKey({ ...place(), scopes }));
    const account = await ask('POST', '/integrations', {
      name: 'groq',
      ai_provider_id: 'groq',
      key: 'sk-any',
      configurations: { custom_host: inference.upstream.url },
    });
    const provider = { name: 'groq', slug: 'groq', integration_id: account.id };
    const { id } = await ask('POST', '/providers', { ...place(), ...provider });
    const string = JSON.stringify([{ role: 'user', content: 'Greet {{name}}.' }]);
    ({ slug } = await makePrompt({
      string,
      virtual_key: id,
      model: 'small',
      parameters: { n: 1 },
    }));
    expect(await ask('GET', `/prompts/${slug}`)).toMatchObject({ virtual_key: 'groq' });
    inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
  });

  const call = (of: string, body: Body, value = key, headers: Record<string, string> = {}) =>
    exchange('POST', `${server.inferenceUrl}/v1/prompts/${of}`, body, {
      authorization: `Bearer ${value}`,
      ...headers,
    });
  const sentBody = () => {
    const { url, body } = inference.upstream.reached.at(-1)!;
    return [url, JSON.parse(String(body))];
  };

  it('is rendered, sent to its provider, and logged as a chat', async () => {
    const body = { variables: { name: 'Ada' }, temperature: 0.5, promptID: slug, messages: [] };
    expect(await call(`${slug}/completions`, body)).toMatchObject({
      status: 200,
      body: chatAnswer,
    });
    const messages = [{ role: 'user', content: 'Greet Ada.' }];
    const query = { model: 'small', n: 1, temperature: 0.5, messages };
    expect(sentBody()).toEqual([expect.stringMatching(/\/chat\/completions$/), query]);
    const logged = await eventually(async () => {
      const { data } = await ask('GET', '/logs');
      expect(data).toHaveLength(1);
      return data[0];
    });
    expect(logged).toMatchObject({ endpoint: 'chat_completions', requested_model: '@groq/small' });
  });

  it('uses the provider of a header or config before its own', async () => {
    const config = { provider: 'mock-upstream', custom_host: inference.upstream.url };
    const headers = { 'x-gateway-config': JSON.stringify(config) };
    const answer = await call(`${slug}/completions`, {}, key, headers);
    expect(answer.headers['x-gateway-provider']).toBe('mock-upstream');
    expect(sentBody()[1]).toMatchObject({ model: 'small' });
  });

  it('uses the version behind an @, and a newly published version within a second', async () => {
    const rendered = async (of: string) => {
      const { body } = await call(`${of}/render`, { variables: { name: 'Ada' } });
      return body.data.messages[0].content;
    };
    expect(await rendered(slug)).toBe('Greet Ada.');
    await ask('PUT', `/prompts/${slug}`, { string: 'Bye {{name}}.' });
    const { id: label_id } = await ask('POST', '/labels', { name: 'next' });
    await ask('PUT', `/prompts/${slug}/versions/2`, { label_id });
    for (const version of ['2', 'latest', 'next']) {
      expect(await rendered(`${slug}@${version}`)).toBe('Bye Ada.');
      const { prompt_version } = await ask('GET', `/prompts/${slug}@${version}`);
      expect(prompt_version).toBe(2);
    }
    expect(await rendered(slug)).toBe('Greet Ada.');
    await ask('PUT', `/prompts/${slug}/makeDefault`, { version: 2 });
    await eventually(async () => expect(await rendered(slug)).toBe('Bye Ada.'));
    expect(await rendered(`${slug}@1`)).toBe('Greet Ada.');
  });

  it('is a completion when it is no chat, and JSON after rendering when it is raw', async () => {
    const template_metadata = { template_type: 'completion' };
    const plain = await makePrompt({ string: 'Say {{word}}', template_metadata, model: '@groq/m' });
    await call(`${plain.id}/completions`, { variables: { word: 'hi' } });
    const query = { model: 'm', prompt: 'Say hi' };
    expect(sentBody()).toEqual([expect.stringMatching(/[^t]\/completions$/), query]);
    const string = '[{"role": "user", "content": "{{word}}"}{{#more}},{{{.}}}{{/more}}]';
    const raw = await makePrompt({ string, is_raw_template: true });
    const more = [{ role: 'user', content: 'b' }];
    const { body } = await call(`${raw.id}/render`, { variables: { word: 'a "b"', more } });
    expect(body.data.messages).toEqual([{ role: 'user', content: 'a "b"' }, ...more]);
    const broken = await call(`${raw.id}/render`, { variables: { more: 'x' } });
    expect(broken).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } });
  });

  it('returns 404 in another workspace, and requires a scope for rendering', async () => {
    const far = await makePrompt({ workspace_id: otherId });
    const answers = await Promise.all(
      [far.slug, `${slug}@9`, 'none'].map((of) => call(`${of}/completions`, {})),
    );
    for (const { status, body } of answers) {
      expect([status, body.error.code]).toEqual([404, 'not_found']);
    }
    const { key: plain } = await inference.addKey(place());
    const refused = await call(`${slug}/render`, {}, plain);
    expect(refused).toMatchObject({ status: 403, body: { error: { code: 'scope_missing' } } });
  });

  it('is rendered for those who may see prompts, and run for everyone', async () => {
    const users = [{ id: await addUser(server), role: 'member' }];
    await ask('POST', `/admin/workspaces/${workspaceId}/users`, { users });
    const own = { name: 'own', ...place(), user_id: users[0]!.id, scopes };
    const [user, service] = await Promise.all(
      ['user', 'service'].map((type) => ask('POST', `/api-keys/workspace/${type}`, own)),
    );
    const statuses = async (value: string) => {
      const rendered = await call(`${slug}/render`, {}, value);
      const answered = await call(`${slug}/completions`, {}, value);
      return [rendered.status, rendered.body.error?.code, answered.status];
    };
    const visible = [200, undefined, 200];
    const show = (security_settings: Body) =>
      ask('PUT', `/admin/workspaces/${workspaceId}`, { security_settings });
    expect(await statuses(user.key)).toEqual(visible);
    await show({ membersViewPrompts: false });
    expect(await statuses(user.key)).toEqual([403, 'prompt_not_shown', 200]);
    expect(await statuses(service.key)).toEqual(visible);
    await ask('PUT', `/admin/workspaces/${workspaceId}/users/${users[0]!.id}`, { role: 'manager' });
    expect(await statuses(user.key)).toEqual(visible);
    await show({ membersViewPrompts: null });
  });

  it('is rejected when it cannot be rendered, without cost for other callers', async () => {
    const { id } = await makePrompt({ string: '{{#a}}{{#a}}{{#a}}x{{/a}}{{/a}}{{/a}}{{>none}}' });
    const bodies = [{ variables: 1 }, { variables: { a: Array(1000).fill(1) } }, {}];
    for (const body of bodies) {
      const refused = await call(`${id}/render`, body);
      expect(refused).toMatchObject({ status: 400, body: { error: { param: 'variables' } } });
    }
  });
});
