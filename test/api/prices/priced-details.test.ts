/**
 * Verifies that everything a provider charges beside plain tokens is charged to the micro-dollar,
 * compared with the journal that the scripted provider keeps.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyUnits } from '../../support/rows/usage-rows.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { pricedRequests } from '../../support/upstream/priced-requests.ts';
import { sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
beforeAll(async () => {
  inference = await startInference();
});
afterAll(() => inference[Symbol.asyncDispose]());

const dollars = (credit_limit: number) => ({ usage_limits: { type: 'cost', credit_limit } });

describe('under a limit of cost', () => {
  it.each(pricedRequests)(
    '%s are charged what the provider writes into its journal',
    async (_, one) => {
      const { upstream } = inference;
      const { key, id } = await inference.addKey(dollars(100));
      upstream.script = (_request, response) => sendJson(response, one.answer);
      const config = { provider: one.provider, custom_host: upstream.url };
      const answer = await inference.chat(key, { path: one.path, params: one.params, config });
      expect(answer).toMatchObject({ status: 200 });
      expect(Number(answer.headers['x-gateway-cost'])).toBe(one.journal / 1_000_000);
      await eventually(async () => {
        expect(await keyUnits(inference.server.database.db, id)).toBe(one.journal);
      });
    },
  );

  it('holds searches to the number that the limit covers', async () => {
    const { upstream } = inference;
    const { key } = await inference.addKey(dollars(100));
    const sent = async (path: string, provider: string, params: object) => {
      upstream.script = (_request, response) => sendJson(response, {});
      const config = { provider, custom_host: upstream.url };
      await inference.chat(key, { path, params, config });
      return JSON.parse(upstream.reached.at(-1)!.body.toString());
    };
    const search = { type: 'web_search' };
    const openAi = { model: 'gpt-4o', input: 'a', tools: [search] };
    expect(await sent('/v1/responses', 'openai', openAi)).toMatchObject({ max_tool_calls: 32 });
    const own = { ...openAi, max_tool_calls: 5 };
    expect(await sent('/v1/responses', 'openai', own)).toMatchObject({ max_tool_calls: 5 });
    const tool = { type: 'web_search_20250305', name: 'web_search' };
    const anthropic = { model: 'claude-opus-4-7', max_tokens: 9, tools: [tool] };
    const message = await sent('/v1/messages', 'anthropic', anthropic);
    expect(message.tools).toEqual([{ ...tool, max_uses: 32 }]);
    const limited = { ...anthropic, tools: [{ ...tool, max_uses: 2 }] };
    expect((await sent('/v1/messages', 'anthropic', limited)).tools[0].max_uses).toBe(2);
  });
});
