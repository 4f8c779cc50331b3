/**
 * Verifies that objects stored at a provider are accessible to the workspace that created them and
 * invisible to all others.
 */
import { gzipSync } from 'node:zlib';
import { NotFoundError } from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exchange } from '../../support/network/exchange.ts';
import type { Inference } from '../../support/server/inference.ts';
import {
  type SharedAccount,
  startSharedAccount,
  type Tenant,
} from '../../support/upstream/shared-account.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let shared: SharedAccount;
let inference: Inference;
let ours: Tenant;
let theirs: Tenant;

/** Objects in the account that both tenants use. */
const stored = new Map<string, Record<string, unknown>>();
let made = 0;

beforeAll(async () => {
  shared = await startSharedAccount();
  ({ inference } = shared);
  ours = await shared.tenant('ours');
  theirs = await shared.tenant('theirs');
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = ({ method, url, body }, response) => {
    const [, , kind, id, ...rest] = new URL(url, 'http://any').pathname.split('/');
    if (kind === 'chat') return sendJson(response, chatAnswer);
    if (method === 'POST' && id === undefined) {
      made += 1;
      const output = [
        { type: 'message', id: `msg-${made}` },
        { type: 'code_interpreter_call', id: `ci-${made}`, container_id: `cntr-${made}` },
      ];
      const stated = JSON.parse(body.toString());
      const one = { id: `${kind}-${made}`, object: kind, made, output, ...stated };
      stored.set(one.id, one);
      return sendJson(response, one);
    }
    const one = stored.get(id!);
    if (one === undefined) return sendJson(response, { error: { message: 'none' } }, 404);
    if (method === 'DELETE' && rest.length === 0) {
      stored.delete(id!);
      return sendJson(response, { id, deleted: true });
    }
    return sendJson(response, one);
  };
});

afterAll(() => shared[Symbol.asyncDispose]());

/** A chat request with this part as content. */
const chatOf = (part: object) => ({ model: 'm', messages: [{ role: 'user', content: [part] }] });

const ask: SharedAccount['ask'] = (...parameters) => shared.ask(...parameters);

const idsOf = (list: { data: { id: string }[] }) => list.data.map(({ id }) => id);

describe('an object that a workspace stores at a provider', () => {
  it('is accessible to keys of the workspace, and listed newest first page by page', async () => {
    const mine: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      mine.unshift((await ours.client.vectorStores.create({ name })).id);
      await theirs.client.vectorStores.create({ name: `not ${name}` });
    }
    expect(idsOf(await ours.client.vectorStores.list())).toEqual(mine);
    expect(idsOf(await ours.client.vectorStores.list({ order: 'asc' }))).toEqual(mine.toReversed());
    const first = await ours.client.vectorStores.list({ limit: 2 });
    expect([idsOf(first), first.has_more]).toEqual([mine.slice(0, 2), true]);
    const rest = await ours.client.vectorStores.list({ limit: 2, after: mine[1]! });
    expect([idsOf(rest), rest.has_more]).toEqual([mine.slice(2), false]);
    const before = await ours.client.vectorStores.list({ before: mine[1]! });
    expect(idsOf(before)).toEqual(mine.slice(0, 1));
    expect(await ours.client.vectorStores.retrieve(mine[0]!)).toMatchObject({ name: 'c' });
    await ours.client.vectorStores.delete(mine[1]!);
    expect(idsOf(await ours.client.vectorStores.list())).toEqual([mine[0], mine[2]]);
    expect(await ask(ours, 'GET', `/vector_stores/${mine[1]}`)).toMatchObject({ status: 404 });
  });

  it('returns 404 to others on every route and in every spelling of its id, without calling the provider', async () => {
    const store = await ours.client.vectorStores.create({ name: 'mine' });
    const file = (await ask(ours, 'POST', '/files', { purpose: 'assistants' })).body;
    const response = await ours.client.responses.create({ model: 'm', input: 'hi' });
    inference.upstream.reached.length = 0;
    const routes: [string, string, object?][] = [];
    for (const id of [store.id, 'vs_none']) {
      routes.push(
        ['GET', `/vector_stores/${id}`],
        ['POST', `/vector_stores/${id}`, { name: 'x' }],
        ['DELETE', `/vector_stores/${id}`],
        ['POST', `/vector_stores/${id}/search`, { query: 'x' }],
        ['GET', `/vector_stores/${id}/files`],
        ['POST', `/vector_stores/${id}/files`, { file_id: 'f' }],
        ['GET', `/VECTOR_STORES/${id}/`],
        ['GET', `/v%65ctor_stores/${id}`],
        ['POST', '/responses', { model: 'm', input: 'x', tools: [{ vector_store_ids: [id] }] }],
        ['GET', `/vector_stores?after=${id}`],
      );
    }
    for (const id of [file.id, 'file-none']) {
      routes.push(['GET', `/files/${id}/content`], ['DELETE', `/files/${id}`]);
      routes.push(['POST', '/vector_stores', { file_ids: [id] }]);
      const content = [{ type: 'input_file', file_id: id }];
      routes.push(['POST', '/responses', { model: 'm', input: [{ role: 'user', content }] }]);
      const requested = chatOf({ type: 'file', file: { file_id: id } });
      routes.push(['POST', '/chat/completions', requested]);
      const source = { type: 'document', source: { type: 'file', file_id: id } };
      routes.push(['POST', '/chat/completions', chatOf(source)]);
    }
    for (const id of [response.id, 'resp_none']) {
      routes.push(['GET', `/responses/${id}`], ['POST', `/responses/${id}/cancel`, {}]);
      routes.push(['GET', `/responses/${id}/input_items`]);
      routes.push(['POST', '/responses', { model: 'm', input: 'x', previous_response_id: id }]);
    }
    const answers = await Promise.all(routes.map((route) => ask(theirs, ...route)));
    for (const [at, answer] of answers.entries()) {
      expect([...routes[at]!, answer.status, answer.body.error?.code]).toEqual([
        ...routes[at]!,
        404,
        'not_found',
      ]);
    }
    const elsewhere = ['/v1', '/openai/v1'].map((prefix) => `${prefix}/vector_stores/${store.id}`);
    for (const path of elsewhere) {
      const answer = await ask(theirs, 'GET', path);
      expect([path, answer.body.error.code]).toEqual([path, 'endpoint_unknown']);
    }
    const escaped = JSON.stringify(chatOf({ file: { file_id: file.id } })).replace('_', '\\u005f');
    const chats = `${inference.server.inferenceUrl}/v1/chat/completions`;
    const headers = { authorization: `Bearer ${theirs.key}`, 'content-type': 'application/json' };
    expect(await exchange('POST', chats, escaped, headers)).toMatchObject({ status: 404 });
    expect(inference.upstream.reached).toEqual([]);
    expect(stored.has(store.id)).toBe(true);
    await ask(
      ours,
      'POST',
      '/chat/completions',
      chatOf({ type: 'file', file: { file_id: file.id } }),
    );
    expect(inference.upstream.reached.at(-1)!.url).toContain('/chat/completions');
  });

  it('returns a bare error when another tenant deletes the response', async () => {
    const { id } = await ours.client.responses.create({ model: 'm', input: 'hi' });
    for (const one of [id, 'resp_none']) {
      expect(await ask(theirs, 'DELETE', `/responses/${one}`)).toMatchObject({
        status: 404,
        body: { code: 'not_found', type: 'not_found_error', param: '' },
      });
      const refused = theirs.client.responses.delete(one);
      await expect(refused).rejects.toBeInstanceOf(NotFoundError);
    }
    expect(await ask(ours, 'DELETE', `/responses/${id}`)).toMatchObject({ status: 200 });
  });

  const wrapped = { error: { message: 'gone', type: 't', param: null, code: null } };
  it.each([
    ['a wrapped error', wrapped, 404, { message: 'gone', type: 't', param: '', code: '404' }],
    [
      'a flat error',
      { message: 'no', param: 'id' },
      400,
      { message: 'no', type: 'invalid_request_error', param: 'id', code: '400' },
    ],
    [
      'an error that is text',
      { error: 'away', code: 7 },
      503,
      { message: 'away', type: 'api_error', param: '', code: '503' },
    ],
    [
      'an error without JSON',
      '<html>',
      500,
      {
        message: 'The provider responded with the status 500',
        type: 'api_error',
        param: '',
        code: '500',
      },
    ],
  ])('returns four strings where the provider responds to a deletion with %s', async (...row) => {
    const [, sent, status, body] = row;
    const { id } = await ours.client.responses.create({ model: 'm', input: 'hi' });
    const usual = inference.upstream.script;
    inference.upstream.script = (request, response) => {
      if (request.method !== 'DELETE') return usual(request, response);
      const isText = typeof sent === 'string';
      const zipped = gzipSync(isText ? sent : JSON.stringify(sent));
      const type = isText ? 'text/html' : 'application/json';
      response.writeHead(status, { 'content-type': type, 'content-encoding': 'gzip' }).end(zipped);
    };
    expect(await ask(ours, 'DELETE', `/responses/${id}`)).toMatchObject({ status, body });
  });

  it('returns four strings where the gateway itself refuses a deletion', async () => {
    const unknown = await ask({ key: 'nobody' }, 'DELETE', '/responses/resp_1');
    expect(unknown).toMatchObject({ status: 401, body: { code: 'invalid_api_key', param: '' } });
    const unreadable = await ask(ours, 'DELETE', '/responses/resp_1', undefined, {
      'x-gateway-config': '{',
    });
    expect(unreadable.status).toBe(400);
    for (const { body } of [unknown, unreadable]) {
      expect(Object.keys(body).sort()).toEqual(['code', 'message', 'param', 'type']);
      expect(Object.values(body).map((value) => typeof value)).toEqual(Array(4).fill('string'));
    }
  });
});

/** Kinds of stored objects, with their sub-resources. */
const below: Record<string, readonly string[]> = {
  responses: ['', '/cancel', '/input_items'],
  conversations: ['', '/items', '/items/i'],
  containers: ['', '/files', '/files/f', '/files/f/content'],
  vector_stores: [
    '',
    '/search',
    '/files',
    '/files/f',
    '/files/f/content',
    '/file_batches/b/cancel',
  ],
  files: ['', '/content'],
  uploads: ['', '/parts', '/complete', '/cancel'],
  batches: ['', '/cancel'],
  assistants: [''],
  threads: ['', '/messages', '/messages/m', '/runs', '/runs/r', '/runs/r/cancel'].concat([
    '/runs/r/steps',
    '/runs/r/steps/s',
    '/runs/r/submit_tool_outputs',
  ]),
};

/** Creates an object of each kind, and for a response its items and its container. */
async function makeAll(by: Tenant): Promise<Record<string, string>> {
  const own: Record<string, string> = {};
  for (const kind of Object.keys(below)) {
    const { body } = await ask(by, 'POST', `/${kind}`, { model: 'm', input: 'x' });
    own[kind] = body.id;
    if (kind === 'responses') [{ id: own.items }, { container_id: own.container }] = body.output;
  }
  return own;
}

/** A place in a body that names an object. */
interface Place {
  readonly kind: string;
  readonly path: string;
  readonly member: string;
  readonly value?: (id: string) => unknown;
  readonly around: (named: object) => object;
}

const responseBody = (more: object) => ({ model: 'm', input: 'x', ...more });
const inTools = (type: string) => (named: object) => responseBody({ tools: [{ type, ...named }] });
const inInput = (more: object) => (named: object) =>
  responseBody({ input: [{ ...more, ...named }] });
const list = (id: string) => [id];
const inPart = (type: string) => (named: object) =>
  responseBody({ input: [{ role: 'user', content: [{ type, ...named }] }] });
const inMessage = (part: object) => ({ messages: [{ role: 'user', content: [part] }] });

const placesOf = (own: Record<string, string>): Place[] => [
  ...['/responses', '/responses/compact', '/responses/input_tokens'].flatMap((path) => [
    ...['message', 'item_reference', 'reasoning'].slice(1).map((type) => ({
      kind: 'items',
      path,
      member: 'id',
      around: inInput({ type }),
    })),
    { kind: 'items', path, member: 'id', around: inInput({}) },
    { kind: 'responses', path, member: 'previous_response_id', around: responseBody },
    { kind: 'conversations', path, member: 'conversation', around: responseBody },
    {
      kind: 'conversations',
      path,
      member: 'conversation',
      around: responseBody,
      value: (id: string) => ({ id }),
    },
    { kind: 'vector_stores', path, member: 'vector_store_ids', value: list, around: inTools('f') },
    { kind: 'container', path, member: 'container', around: inTools('code_interpreter') },
    {
      kind: 'files',
      path,
      member: 'file_ids',
      value: list,
      around: (named: object) => inTools('c')({ container: { type: 'auto', ...named } }),
    },
    { kind: 'files', path, member: 'file_id', around: inPart('input_file') },
    { kind: 'files', path, member: 'file_id', around: inPart('input_image') },
  ]),
  {
    kind: 'container',
    path: '/responses',
    member: 'container_id',
    around: (named) => inTools('shell')({ environment: { type: 'container_reference', ...named } }),
  },
  {
    kind: 'items',
    path: `/conversations/${own.conversations}/items`,
    member: 'id',
    around: (named) => ({ items: [{ type: 'item_reference', ...named }] }),
  },
  ...['/assistants', '/threads', `/threads/${own.threads}`].flatMap((path) => [
    {
      kind: 'vector_stores',
      path,
      member: 'vector_store_ids',
      value: list,
      around: (named: object) => responseBody({ tool_resources: { file_search: named } }),
    },
    {
      kind: 'files',
      path,
      member: 'file_ids',
      value: list,
      around: (named: object) => responseBody({ tool_resources: { code_interpreter: named } }),
    },
  ]),
  ...[`/threads/${own.threads}/runs`, '/threads/runs'].flatMap((path) => [
    { kind: 'assistants', path, member: 'assistant_id', around: responseBody },
    {
      kind: 'files',
      path,
      member: 'file_id',
      around: (named: object) => responseBody({ thread: { messages: [{ attachments: [named] }] } }),
    },
  ]),
  {
    kind: 'files',
    path: `/threads/${own.threads}/messages`,
    member: 'file_id',
    around: (named) => ({ role: 'user', content: [{ type: 'image_file', image_file: named }] }),
  },
  { kind: 'files', path: '/vector_stores', member: 'file_ids', value: list, around: responseBody },
  ...['files', 'file_batches'].map((what) => ({
    kind: 'files',
    path: `/vector_stores/${own.vector_stores}/${what}`,
    member: 'file_id',
    around: (named: object) => ({ files: [named] }),
  })),
  { kind: 'files', path: '/batches', member: 'input_file_id', around: responseBody },
  {
    kind: 'files',
    path: '/chat/completions',
    member: 'file_id',
    around: (named) => responseBody(inMessage({ type: 'file', file: named })),
  },
];

describe('two workspaces with one account', () => {
  it('cannot name objects of the other at any place of a body, in any spelling', async () => {
    const [mine, others] = [await makeAll(ours), await makeAll(theirs)];
    const headers = { authorization: `Bearer ${ours.key}`, 'content-type': 'application/json' };
    const send = async (path: string, text: string) => {
      const url = `${inference.server.inferenceUrl}/v1${path}`;
      return { path, text, status: (await exchange('POST', url, text, headers)).status };
    };
    const { reached } = inference.upstream;
    for (const { kind, path, member, value = (id: string) => id, around } of placesOf(mine)) {
      const textOf = (id: string) => JSON.stringify(around({ [member]: value(id) }));
      const key = `"${member}":`;
      const escaped = `"\\u00${member.charCodeAt(0).toString(16)}${member.slice(1)}":`;
      const own = mine[kind]!;
      reached.length = 0;
      await send(path, textOf(own));
      expect(reached.map(({ url }) => url)).toEqual([expect.stringContaining(path)]);
      const [written, twins]: [string[], string[]] = [[], []];
      for (const id of [others[kind]!, 'of_nobody']) {
        const text = textOf(id);
        const named = JSON.stringify(value(id));
        written.push(text, text.replace(key, escaped));
        // Only providers that have files treat the ids in a chat as case-sensitive.
        if (path !== '/chat/completions') written.push(text.replace(key, key.toUpperCase()));
        twins.push(
          text.replace(key, `${key}${JSON.stringify(value(own))},${key}`),
          textOf(own).replace(key, `${key}${named},${key}`),
          textOf(own).replace(key, `${escaped}${named},${key}`),
        );
      }
      reached.length = 0;
      const answers = await Promise.all(written.map((text) => send(path, text)));
      expect(answers.filter(({ status }) => status !== 404)).toEqual([]);
      const both = await Promise.all(twins.map((text) => send(path, text)));
      expect(both.filter(({ status }) => status !== 400)).toEqual([]);
      expect(reached).toEqual([]);
    }
  });

  it('gets the same response for objects of the other and for unknown ones, on every route', async () => {
    const others = await makeAll(theirs);
    const mine = await makeAll(ours);
    inference.upstream.reached.length = 0;
    for (const [kind, paths] of Object.entries(below)) {
      for (const path of paths) {
        for (const method of ['GET', 'POST', 'DELETE']) {
          const body = method === 'POST' ? { purpose: 'x' } : undefined;
          const ids = [others[kind]!, `${kind}-none`];
          const answers = await Promise.all(
            ids.map((id) => ask(ours, method, `/${kind}/${id}${path}`, body)),
          );
          const [foreign, unknown] = answers.map(({ status, body: responseBody }) => ({
            status,
            responseBody,
          }));
          expect([kind, path, method, foreign]).toEqual([kind, path, method, unknown]);
          expect(foreign).toMatchObject({ status: 404 });
        }
      }
    }
    expect(inference.upstream.reached).toEqual([]);
    const container = await ask(ours, 'GET', `/containers/${mine.container}/files`);
    expect([container.status, inference.upstream.reached.length]).toEqual([404, 1]);
    expect(container.body.error.message).toBe('none');
  });
});
