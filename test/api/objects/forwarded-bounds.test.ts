/** Verifies that requests about objects have the same bounds at a provider as in the gateway itself. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type SharedAccount,
  startKeeper,
  startSharedAccount,
} from '../../support/upstream/shared-account.ts';
import type { TestUpstream } from '../../support/upstream/upstream.ts';

let shared: SharedAccount;
let upstream: TestUpstream;
/** Keys of two workspaces: the provider stores the objects of one, the gateway those of the other. */
const keys: Record<string, { readonly key: string }> = {};
const { script } = startKeeper();

beforeAll(async () => {
  shared = await startSharedAccount();
  ({ upstream } = shared.inference);
  upstream.script = script;
  for (const storage of ['proxy', 'native']) keys[storage] = await keyOf(storage);
});

beforeEach(() => {
  upstream.reached.length = 0;
});

afterAll(() => shared[Symbol.asyncDispose]());

async function keyOf(storage: string) {
  const { server } = shared.inference;
  const post = async (path: string, body: object) => {
    const response = await server.request('POST', path, { body });
    expect(response).toMatchObject({ status: 200 });
    return response.body;
  };
  const integration = await post('/v1/integrations', {
    name: storage,
    slug: storage,
    ai_provider_id: 'openai',
    key: 'k',
    configurations: { custom_host: upstream.url },
    capabilities: { assistants: storage, vector_stores: storage, files: storage },
  });
  const { id: workspace_id } = await post('/v2/workspaces', { name: storage });
  const named = { name: storage, workspace_id };
  const { slug } = await post('/v1/providers', { ...named, integration_id: integration.id });
  const config = await post('/v2/configs', { ...named, config: { provider: `@${slug}` } });
  return shared.inference.addKey({ workspace_id, defaults: { config_id: config.slug } });
}

const tools = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ type: 'function', function: { name: `f${at}` } }));
const sized = (max: number, overlap: number) => ({
  chunking_strategy: {
    type: 'static',
    static: { max_chunk_size_tokens: max, chunk_overlap_tokens: overlap },
  },
});
const badChunks = [
  ['a strategy of an unknown type', { chunking_strategy: { type: 'semantic' } }],
  ['a strategy without sizes', { chunking_strategy: { type: 'static' } }],
  ['chunks below 100 tokens', sized(99, 10)],
  ['chunks above 4,096 tokens', sized(4097, 10)],
  ['an overlap above half of a chunk', sized(800, 401)],
] as const;

/** Method, path with the names of objects in braces, body, and the parameter at fault. */
type Row = [title: string, method: string, path: string, body: object | undefined, param: string];

const badLists: Row[] = [
  '/assistants',
  '/vector_stores',
  '/threads/{threads}/runs/{runs}/steps',
].flatMap((path) => [
  [`${path} in an unknown order`, 'GET', `${path}?order=sideways`, undefined, 'order'] as Row,
  [`${path} with 0 objects`, 'GET', `${path}?limit=0`, undefined, 'limit'] as Row,
  [`${path} with 101 objects`, 'GET', `${path}?limit=101`, undefined, 'limit'] as Row,
]);

const refused: Row[] = [
  ...badLists,
  ['an assistant', 'POST', '/assistants', { model: 'm', tools: tools(21) }, 'tools'],
  ['a changed assistant', 'POST', '/assistants/{assistants}', { tools: tools(21) }, 'tools'],
  ...['/threads/runs', '/threads/{threads}/runs'].flatMap((path): Row[] => [
    [`${path} with 21 tools`, 'POST', path, { tools: tools(21) }, 'tools'],
    [`${path} with 255 tokens`, 'POST', path, { max_prompt_tokens: 255 }, 'max_prompt_tokens'],
    [`${path} with no tokens`, 'POST', path, { max_completion_tokens: 0 }, 'max_completion_tokens'],
  ]),
  ...['/vector_stores', '/vector_stores/{vector_stores}/files'].flatMap((path) =>
    badChunks.map(([title, body]): Row => {
      const file = path.endsWith('/files') ? { file_id: '{files}' } : {};
      return [`${path} with ${title}`, 'POST', path, { ...body, ...file }, 'chunking_strategy'];
    }),
  ),
  [
    'a batch of files with an overlap above half of a chunk',
    'POST',
    '/vector_stores/{vector_stores}/file_batches',
    { file_ids: ['{files}'], ...sized(800, 401) },
    'chunking_strategy',
  ],
];

describe.each(['proxy', 'native'])('a request about objects with the storage %s', (storage) => {
  const ids: Record<string, string> = {};
  const named = (text: string) => text.replace(/\{(\w+)\}/g, (_, kind: string) => ids[kind]!);
  const ask = (method: string, path: string, body?: object) =>
    shared.ask(keys[storage]!, method, path, body);

  beforeAll(async () => {
    for (const kind of ['assistants', 'threads', 'vector_stores']) {
      const created = await ask('POST', `/${kind}`, kind === 'assistants' ? { model: 'm' } : {});
      expect(created).toMatchObject({ status: 200 });
      ids[kind] = created.body.id;
    }
    const run = await ask('POST', named('/threads/{threads}/runs'), {
      assistant_id: ids.assistants,
    });
    ids.runs = run.body.id;
    const form = new FormData();
    form.append('purpose', 'assistants');
    form.append('file', new Blob(['text']), 'a.txt');
    const stored = await fetch(`${shared.inference.server.inferenceUrl}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys[storage]!.key}` },
      body: form,
    });
    ids.files = ((await stored.json()) as { id: string }).id;
  });

  it.each(refused)('returns 400 for %s', async (_, method, path, body, param) => {
    const run = { ...body, ...(path.endsWith('runs') ? { assistant_id: ids.assistants } : {}) };
    const sent = body === undefined ? undefined : JSON.parse(named(JSON.stringify(run)));
    const response = await ask(method, named(path), sent);
    expect(response).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } });
    expect(response.body.error.param).toMatch(new RegExp(`^${param}`));
    const calls = upstream.reached.map(({ url }) => url);
    expect(calls.filter((url) => /assistants|threads|vector_stores/.test(url))).toEqual([]);
  });

  it('accepts bounds that are just kept', async () => {
    const bounds = { max_prompt_tokens: 256, max_completion_tokens: null, tools: tools(20) };
    const body = { assistant_id: ids.assistants, ...bounds };
    expect(await ask('POST', named('/threads/{threads}/runs'), body)).toMatchObject({
      status: 200,
    });
    const file = { file_id: ids.files, ...sized(4096, 2048) };
    const files = named('/vector_stores/{vector_stores}/files');
    expect(await ask('POST', files, file)).toMatchObject({ status: 200 });
    const page = await ask('GET', '/vector_stores?order=asc&limit=100');
    expect(page).toMatchObject({ status: 200 });
  });
});
