/** Verifies analytics by guardrail: groups, filters and the log, for requests that the gateway judged. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';

let inference: Inference;
let ids: Record<'letters' | 'words', string>;
let slug: string;

const check = (id: string, parameters: object) => [{ id, parameters }];

beforeAll(async () => {
  inference = await startInference();
  const { server } = inference;
  const post = async (path: string, body: object) =>
    (await server.request('POST', path, { body })).body;
  const { id: workspace_id } = await post('/v2/workspaces', { name: 'w' });
  const make = (name: string, checks: object[], deny: boolean) =>
    post('/v2/guardrails', { name, workspace_id, checks, actions: { deny } });
  const letters = await make(
    'letters',
    check('default.contains', { words: ['bad'], operator: 'none' }),
    true,
  );
  const words = await make('words', check('default.wordCount', { maxWords: 2 }), false);
  ids = { letters: letters.id, words: words.id };
  slug = letters.slug;
  const { key } = await inference.addKey({ workspace_id });
  const ask = async (content: string, guardrails: unknown[]) => {
    const config = {
      provider: 'openai',
      api_key: 'k',
      custom_host: inference.upstream.url,
      input_guardrails: guardrails,
    };
    const response = await fetch(`${server.inferenceUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${key}`,
        'x-gateway-config': JSON.stringify(config),
      },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content }] }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const both = [letters.slug, words.slug];
  const inline = { 'default.contains': { words: ['x'] }, id: 'inline' };
  const statuses = [
    await ask('fine', both),
    await ask('one two three', both),
    await ask('bad one two', both),
    await ask('fine', [words.slug]),
    await ask('fine', [inline]),
    await ask('fine', []),
  ];
  expect(statuses).toEqual([200, 246, 446, 200, 246, 200]);
});
afterAll(() => inference[Symbol.asyncDispose]());

async function read(path: string): Promise<ReturnType<typeof JSON.parse>> {
  const { status, body } = await inference.server.request('GET', `/v1/${path}`);
  expect([path, status]).toEqual([path, 200]);
  return body;
}

it('groups requests by guardrail, with the verdicts of that guardrail', async () => {
  await expect.poll(async () => (await read('logs')).data.length).toBe(6);
  for (const group of ['guardrail', 'guardrails']) {
    const { total, data } = await read(`analytics/groups/${group}`);
    expect(total).toBe(2);
    expect(data).toMatchObject([
      {
        guardrail: ids.words,
        requests: 4,
        guardrail_passed: 2,
        guardrail_failed: 2,
        guardrail_denied: 0,
      },
      {
        guardrail: ids.letters,
        requests: 3,
        guardrail_passed: 2,
        guardrail_failed: 0,
        guardrail_denied: 1,
      },
    ]);
  }
  const by = 'analytics/groups/guardrail?order_by=requests&order_by_type=asc';
  const first = await read(`${by}&page_size=1`);
  const second = await read(`${by}&page_size=1&current_page=1`);
  expect([first.data[0].guardrail, second.data[0].guardrail, second.total]).toEqual([
    ids.letters,
    ids.words,
    2,
  ]);
});

it('filters requests by guardrail, and counts its verdicts', async () => {
  const summary = (total: number, passed: number, failed: number, denied: number) => ({
    total_requests: total,
    total,
    passed,
    failed,
    denied,
  });
  const guardrails = 'analytics/summary/guardrails?guardrails=';
  expect((await read(guardrails + slug)).summary).toMatchObject(summary(3, 2, 0, 1));
  expect((await read(guardrails + ids.words)).summary).toMatchObject(summary(4, 2, 2, 0));
  const all = (await read(`${guardrails}${slug},${ids.words}`)).summary;
  expect(all).toMatchObject(summary(4, 2, 1, 1));
  expect((await read(`${guardrails}none`)).summary).toMatchObject(summary(0, 0, 0, 0));
  const graph = await read(`analytics/graphs/guardrails?guardrails=${slug}`);
  expect(graph.summary).toMatchObject({ passed: 2, denied: 1 });
  const models = await read(`analytics/groups/models?guardrails=${slug}`);
  expect(models.data).toMatchObject([{ value: 'gpt-4o', requests: 3 }]);
});

it('filters the log by a guardrail and its own verdict', async () => {
  const statuses = async (filter: string): Promise<number[]> =>
    (await read(`logs?${filter}`)).data
      .map(({ status }: { status: number }) => status)
      .toSorted();
  expect(await statuses(`guardrail=${slug}`)).toEqual([200, 246, 446]);
  expect(await statuses(`guardrail=${ids.words.toUpperCase()}`)).toHaveLength(4);
  expect(await statuses(`guardrail=${slug}&guardrail_verdict=denied`)).toEqual([446]);
  expect(await statuses(`guardrail=${slug}&guardrail_verdict=failed`)).toEqual([]);
  // The request that the other guardrail denied has failed this one.
  expect(await statuses(`guardrail=${ids.words}&guardrail_verdict=failed`)).toEqual([246, 446]);
  expect(await statuses('guardrail=none')).toEqual([]);
  expect(await statuses(`guardrail=${encodeURIComponent('x" OR "')}`)).toEqual([]);
});
