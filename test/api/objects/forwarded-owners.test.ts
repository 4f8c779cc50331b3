/**
 * Verifies that objects of OpenAI and Anthropic clients in an account shared by workspaces belong
 * to their creator only.
 */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ownedPathOf } from '../../../src/gateway/references/owned-path.ts';
import { endpointAt } from '../../../src/model/endpoints/catalogue.ts';
import { type ClientRequest, clientRequests } from '../../support/interface/client-requests.ts';
import {
  type AnthropicTenant,
  type SharedAccount,
  startKeeper,
  startSharedAccount,
  type Tenant,
} from '../../support/upstream/shared-account.ts';
import { sendJson, type TestUpstream } from '../../support/upstream/upstream.ts';

let shared: SharedAccount;
let upstream: TestUpstream;
let ours: Tenant;
let theirs: Tenant;
let claude: AnthropicTenant;
let otherClaude: AnthropicTenant;
const { objects: stored, script } = startKeeper();
beforeAll(async () => {
  shared = await startSharedAccount();
  ({ upstream } = shared.inference);
  upstream.script = script;
  ours = await shared.tenant('ours');
  theirs = await shared.tenant('theirs');
  claude = await shared.anthropicTenant('claude');
  otherClaude = await shared.anthropicTenant('other claude');
});

beforeEach(() => {
  upstream.reached.length = 0;
});

afterAll(() => shared[Symbol.asyncDispose]());

const notFound = { status: 404 };

describe('every request of a client', () => {
  const openClients: [string, (fetch: never) => object][] = [
    ['OpenAI', (fetch) => new OpenAI({ apiKey: 'k', adminAPIKey: 'k', maxRetries: 0, fetch })],
    ['Anthropic', (fetch) => new Anthropic({ apiKey: 'k', maxRetries: 0, fetch })],
  ];
  const isHelper = (name: string): boolean =>
    /(?:^|\.)(?:stream|_?toolRunner\w*|runTools|thread|poller|worker|\w+Stream)$/.test(name);

  it.each(openClients)(
    '%s returns 404 for objects of others and for the account as a whole',
    async (_, open) => {
      const requests = await clientRequests((fetch) => open(fetch as never), isHelper);
      const requested = new Map<
        string,
        Pick<ClientRequest, 'method'> & { readonly path: string }
      >();
      for (const { method, path } of requests) {
        if (path !== null)
          requested.set(`${method} ${path}`, { method, path: path.slice('/v1'.length) });
      }
      const ids = new Map<string, string>();
      let refused = 0;
      for (const { method, path } of requested.values()) {
        const body = method === 'POST' ? {} : undefined;
        const owned = ownedPathOf(method, path);
        if (owned === null) {
          if (endpointAt(method, path) !== null) continue;
          expect([path, await shared.ask(ours, method, path, body)]).toMatchObject([
            path,
            notFound,
          ]);
          refused += 1;
        } else if (owned.id !== null) {
          const id = ids.get(owned.kind) ?? (await idOf(owned.kind, path));
          ids.set(owned.kind, id);
          const before = upstream.reached.length;
          const [foreign, unknown] = await Promise.all(
            [id, 'of_nobody'].map((one) =>
              shared.ask(ours, method, path.replace(owned.id!, one), body),
            ),
          );
          expect([method, path, foreign!.status]).toEqual([method, path, 404]);
          expect([path, foreign!.body]).toEqual([path, unknown!.body]);
          expect([path, upstream.reached.length]).toEqual([path, before]);
          refused += 1;
        }
      }
      expect(refused).toBeGreaterThan(80);
    },
  );
});

/** Returns the id of another tenant's object; models and characters result from jobs and videos. */
async function idOf(kind: string, path: string): Promise<string> {
  if (kind === 'models') return (await fineTuned(theirs)).model;
  const collection = path.slice(0, path.indexOf('/{'));
  const body = { model: 'm', store: true, messages: [], input: 'x' };
  return (await shared.ask(theirs, 'POST', collection, body)).body.id;
}

/** Runs a fine-tuning job to its end. */
async function fineTuned({ client }: Tenant) {
  const { id } = await client.fineTuning.jobs.create({
    model: 'm',
    training_file: await fileOf(client),
  });
  const [model, result] = [`ft:m:${id}`, `file-result-${id}`];
  stored.set(id, { ...stored.get(id), fine_tuned_model: model, result_files: [result] });
  for (const one of [model, result]) stored.set(one, { id: one });
  await client.fineTuning.jobs.list();
  return { id, model, result };
}

async function fileOf(client: OpenAI): Promise<string> {
  const file = await toFile(Buffer.from('x'), 'x.jsonl');
  return (await client.files.create({ file, purpose: 'fine-tune' })).id;
}

const idsOf = (some: readonly { readonly id: string }[]) => some.map(({ id }) => id);

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  return Array.fromAsync(list);
}

describe('two workspaces with one account', () => {
  it('lists, filters and deletes only its own stored chat completions', async () => {
    const chatOf = async ({ client }: Tenant, more: object) =>
      (await client.chat.completions.create({ model: 'm', messages: [], store: true, ...more })).id;
    const mine = [
      await chatOf(ours, { metadata: { a: '1' } }),
      await chatOf(ours, { model: 'n' }),
      await chatOf(ours, {}),
    ].toReversed();
    const other = await chatOf(theirs, {});
    const { completions } = ours.client.chat;
    const unstored = await completions.create({ model: 'm', messages: [] });
    expect(idsOf(await all(completions.list({ limit: 2 })))).toEqual(mine);
    expect(idsOf(await all(completions.list({ model: 'n' })))).toEqual([mine[1]]);
    expect(idsOf(await all(completions.list({ metadata: { a: '1' } })))).toEqual([mine[2]]);
    expect((await completions.retrieve(mine[0]!)).id).toBe(mine[0]);
    expect(await all(completions.messages.list(mine[0]!))).toEqual([]);
    for (const id of [other, unstored.id]) {
      await expect(completions.retrieve(id)).rejects.toMatchObject(notFound);
      await expect(completions.delete(id)).rejects.toMatchObject(notFound);
    }
    await completions.delete(mine[0]!);
    await expect(completions.retrieve(mine[0]!)).rejects.toMatchObject(notFound);
    expect(idsOf(await all(completions.list()))).toEqual(mine.slice(1));
  });

  it('has its own fine-tuning jobs with the resulting files and models', async () => {
    const [mine, other] = [await fineTuned(ours), await fineTuned(theirs)];
    const { files, fineTuning, models } = ours.client;
    expect(idsOf(await all(fineTuning.jobs.list()))).toEqual([mine.id]);
    expect((await files.retrieve(mine.result)).id).toBe(mine.result);
    await fineTuning.checkpoints.permissions.list(mine.model);
    await models.retrieve(other.model);
    const foreign = [
      files.retrieve(other.result),
      fineTuning.checkpoints.permissions.list(other.model),
      models.delete(other.model),
      models.delete('gpt-4o'),
      fineTuning.jobs.create({ model: 'm', training_file: other.result }),
      fineTuning.jobs.create({
        model: 'm',
        training_file: mine.result,
        validation_file: other.result,
      }),
    ];
    await Promise.all(foreign.map((one) => expect(one).rejects.toMatchObject(notFound)));
    await models.delete(mine.model);
    await expect(models.delete(mine.model)).rejects.toMatchObject(notFound);
  });

  it('references only its own objects in videos, evaluations and skills, also in forms', async () => {
    const makeAll = async ({ client }: Tenant) => ({
      video: (await client.videos.create({ prompt: 'x' })).id,
      skill: (await client.skills.create()).id,
      file: await fileOf(client),
      evaluation: (await client.evals.create({} as never)).id,
    });
    const [mine, other] = [await makeAll(ours), await makeAll(theirs)];
    const { videos, evals, containers, responses } = ours.client;
    const remixed = await videos.remix(mine.video, { prompt: 'x' });
    const edited = await videos.edit({ prompt: 'x', video: { id: mine.video } });
    expect(idsOf(await all(videos.list()))).toEqual(idsOf([edited, remixed, { id: mine.video }]));
    const source = (id: string) => ({ data_source: { source: { type: 'file_id', id } } }) as never;
    await evals.runs.create(mine.evaluation, source(mine.file));
    const environment = (skill_id: string) => ({
      model: 'm',
      input: 'x',
      tools: [{ type: 'shell', environment: { skills: [{ type: 'skill_reference', skill_id }] } }],
    });
    await responses.create(environment(mine.skill) as never);
    await responses.create(environment('openai-slides') as never);
    upstream.reached.length = 0;
    const foreign = [
      videos.edit({ prompt: 'x', video: { id: other.video } }),
      videos.extend({ prompt: 'x', seconds: '4', video: { id: other.video } }),
      videos.create({ prompt: 'x', input_reference: { file_id: other.file } }),
      evals.runs.create(mine.evaluation, source(other.file)),
      containers.create({
        name: 'x',
        skills: [{ type: 'skill_reference', skill_id: other.skill }],
      }),
      responses.create(environment(other.skill) as never),
    ];
    await Promise.all(foreign.map((one) => expect(one).rejects.toMatchObject(notFound)));
    const form = (name: string, value: string, more = '') =>
      `--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n--b--\r\n`;
    const send = (body: string, type = 'multipart/form-data; boundary=b') =>
      shared.ask(ours, 'POST', '/videos/edits', body, { 'content-type': type });
    expect(await send(form('video[id]', other.video))).toMatchObject(notFound);
    expect(await send(form('VIDEO', other.video))).toMatchObject(notFound);
    for (const refused of [
      await send(form('video[id]', other.video, '; filename="x"')),
      await send(form('video[id]', other.video), 'multipart/form-data; boundary=b; boundary=c'),
      await send(JSON.stringify({ video: { id: other.video } }), 'text/plain'),
      await send(form('video[id]', other.video).slice(0, 60)),
    ]) {
      expect(refused).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } });
    }
    for (const type of ['stored_completions', 'responses', 'logs']) {
      for (const [path, body] of [
        ['/evals', { data_source_config: { type } }],
        [`/evals/${mine.evaluation}/runs`, { data_source: { source: { type } } }],
      ] as const) {
        const refused = await shared.ask(ours, 'POST', path, body);
        expect(refused).toMatchObject({ status: 400, body: { error: { param: 'type' } } });
      }
    }
    expect(upstream.reached).toEqual([]);
  });

  it('continues only its own conversations', async () => {
    const speaking = { model: 'm', modalities: ['audio'], messages: [] };
    const spoken = async (by: Tenant) =>
      (await shared.ask(by, 'POST', '/chat/completions', speaking)).body.choices[0].message.audio
        .id;
    const goingOn = (id: string) => ({
      model: 'm',
      messages: [{ role: 'assistant', audio: { id } }],
    });
    const [mine, other] = [await spoken(ours), await spoken(theirs)];
    const answers = await Promise.all(
      [mine, other, 'audio-none'].map((id) =>
        shared.ask(ours, 'POST', '/chat/completions', goingOn(id)),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 404]);
  });
});

describe('two workspaces with one Anthropic account', () => {
  it('has its own containers and code files, and none that a model invents', async () => {
    const query = { model: 'm', max_tokens: 100, messages: [] };
    const code = { ...query, tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] };
    const run = async ({ client }: AnthropicTenant) => {
      const { container, content } = await client.messages.create(code as never);
      const result = content[1] as unknown as { content: { content: { file_id: string }[] } };
      return { container: container!.id, file: result.content.content[0]!.file_id };
    };
    const [mine, other] = [await run(claude), await run(otherClaude)];
    const { messages, files } = claude.client;
    await messages.create({ ...query, container: mine.container } as never);
    const skills = (skill_id: string) => ({ skills: [{ type: 'custom', skill_id, version: '1' }] });
    await messages.create({ ...query, container: skills('pptx') } as never);
    expect((await files.retrieveMetadata(mine.file)).id).toBe(mine.file);
    upstream.reached.length = 0;
    const source = (file_id: string) => [{ type: 'document', source: { type: 'file', file_id } }];
    const foreign = [
      messages.create({ ...query, container: other.container } as never),
      messages.create({ ...query, container: { id: other.container } } as never),
      messages.create({ ...query, container: skills('skill_other') } as never),
      messages.countTokens({ ...query, container: other.container } as never),
      messages.create({
        ...query,
        messages: [{ role: 'user', content: source(other.file) }],
      } as never),
      files.retrieveMetadata(other.file),
      files.download(other.file),
      files.retrieveMetadata('file-made-up'),
    ];
    await Promise.all(foreign.map((one) => expect(one).rejects.toMatchObject(notFound)));
    expect(upstream.reached).toEqual([]);
  });

  it('continues only from its own messages, and begins anew otherwise', async () => {
    const query = { model: 'm', max_tokens: 100, messages: [], thread: { type: 'create' } };
    const begin = async ({ client }: AnthropicTenant) =>
      (await client.messages.create(query as never)).id;
    const [mine, other] = [await begin(claude), await begin(otherClaude)];
    const { messages } = claude.client;
    const from = (previous_message_id: string) => ({ type: 'continue', previous_message_id });
    const next = await messages.create({ ...query, thread: from(mine) } as never);
    await messages.create({ ...query, thread: from(next.id) } as never);
    const unthreaded = await messages.create({ ...query, thread: null } as never);
    upstream.reached.length = 0;
    const lost = { status: 404, error: { error: { details: { error_code: 'thread_not_found' } } } };
    const params = { ...query, thread: from(other) };
    const foreign = [
      messages.create(params as never),
      messages.create({ ...query, thread: from(unthreaded.id) } as never),
      messages.create({ ...query, diagnostics: { previous_message_id: other } } as never),
      messages.batches.create({ requests: [{ custom_id: 'a', params }] } as never),
    ];
    await Promise.all(foreign.map((one) => expect(one).rejects.toMatchObject(lost)));
    expect(upstream.reached).toEqual([]);
  });

  it('lists its batches and skills page by page like the client', async () => {
    const { messages, skills } = claude.client;
    const batches: string[] = [];
    const own: string[] = [];
    for (let at = 0; at < 3; at += 1) {
      batches.unshift((await messages.batches.create({ requests: [] })).id);
      own.unshift((await skills.create({ files: [] } as never)).id);
      await otherClaude.client.messages.batches.create({ requests: [] });
    }
    expect(idsOf(await all(messages.batches.list({ limit: 2 })))).toEqual(batches);
    expect(idsOf(await all(messages.batches.list({ limit: 1000 })))).toEqual(batches);
    expect(idsOf(await all(skills.list({ limit: 2 })))).toEqual(own);
    await messages.batches.delete(batches[0]!);
    expect(idsOf(await all(messages.batches.list()))).toEqual(batches.slice(1));
  });
});

it('keeps the first owner of an id that another tenant writes into a body, also when the provider echoes it', async () => {
  const item = (id: string) => ({ type: 'message', id, role: 'assistant', content: 'x' });
  let made = 0;
  upstream.script = ({ method, url, body }, response) => {
    const stated = method === 'POST' ? JSON.parse(body.toString()) : {};
    const path = new URL(url, 'http://any').pathname;
    if (path.endsWith('/input_items')) return sendJson(response, { data: [item('msg-first')] });
    made += 1;
    const output = Array.isArray(stated.input) ? stated.input : [item('msg-first')];
    // An id of the body counts.
    const one = { id: `echo-${made}`, object: 'response', output, ...stated };
    stored.set(one.id, one);
    sendJson(response, one);
  };
  const first = await shared.ask(ours, 'POST', '/responses', { model: 'm', input: 'x' });
  const store = await shared.ask(ours, 'POST', '/vector_stores', { name: 'ours' });
  const echoed = { model: 'm', input: [item('msg-first')] };
  const echo = await shared.ask(theirs, 'POST', '/responses', echoed);
  expect(echo.body.output).toEqual(echoed.input);
  await shared.ask(theirs, 'GET', `/responses/${echo.body.id}/input_items`);
  await shared.ask(theirs, 'POST', '/vector_stores', { id: store.body.id });
  const naming = (id: string) => ({ model: 'm', input: [{ type: 'item_reference', id }] });
  const tries = async (by: Tenant) => [
    (await shared.ask(by, 'POST', '/responses', naming('msg-first'))).status,
    (await shared.ask(by, 'GET', `/vector_stores/${store.body.id}`)).status,
    (await shared.ask(by, 'GET', `/responses/${first.body.id}`)).status,
  ];
  expect(await tries(theirs)).toEqual([404, 404, 404]);
  expect(await tries(ours)).toEqual([200, 200, 200]);
  const both = [ours, theirs].map((by) =>
    shared.ask(by, 'POST', '/responses', { model: 'm', input: [item('msg-at-once')] }),
  );
  await Promise.all(both);
  const named = [ours, theirs].map((by) =>
    shared.ask(by, 'POST', '/responses', naming('msg-at-once')),
  );
  const statuses = (await Promise.all(named)).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([200, 404]);
  upstream.script = script;
});
