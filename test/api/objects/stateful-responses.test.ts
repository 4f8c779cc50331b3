/**
 * Verifies responses that the gateway stores: created through chats, returned in the OpenAI format,
 * continued, and readable after an aborted stream.
 */
import type OpenAI from 'openai';
import { BadRequestError, NotFoundError } from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { endLostResponses } from '../../../src/jobs/end-lost-responses.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { jobContext } from '../../support/server/job-context.ts';
import { objectClient } from '../../support/server/object-client.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let client: OpenAI;
let other: OpenAI;

beforeAll(async () => {
  inference = await startInference();
  [client, other] = [
    await objectClient(inference, 'groq'),
    await objectClient(inference, 'anthropic'),
  ];
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});

afterAll(() => inference[Symbol.asyncDispose]());

const lastProviderBody = () => JSON.parse(inference.upstream.reached.at(-1)!.body.toString());

const tool = {
  type: 'function' as const,
  name: 'weather',
  description: 'now',
  strict: true,
  parameters: { type: 'object', properties: {} },
};
const called = {
  id: 'call_1',
  type: 'function',
  function: { name: 'weather', arguments: '{"in":"Bern"}' },
};

/** A chat stream whose chunks the test sends. */
function streamScript() {
  const { promise: begun, resolve } = Promise.withResolvers<{
    say: (...deltas: object[]) => void;
    end: (reason?: string) => void;
    breakOff: () => void;
  }>();
  inference.upstream.script = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const write = (more: object): void => {
      const chunk = { id: 'c', object: 'chat.completion.chunk', model: 'm', ...more };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    };
    resolve({
      say: (...deltas) => {
        for (const delta of deltas) write({ choices: [{ index: 0, delta, finish_reason: null }] });
      },
      end: (reason = 'stop') => {
        write({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
        write({ choices: [], usage: chatAnswer.usage });
        response.end('data: [DONE]\n\n');
      },
      breakOff: () => response.destroy(),
    });
  };
  return begun;
}

async function all(events: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  const found: ResponseStreamEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

describe('a response of a provider that offers only chats', () => {
  it('is requested as a chat, returned as a response, stored with its input, and deleted', async () => {
    const response = await client.responses.create({
      model: 'm',
      instructions: 'be brief',
      input: 'hello',
      max_output_tokens: 50,
      metadata: { a: 'b' },
      text: { format: { type: 'json_object' } },
    });
    expect(inference.upstream.reached.at(-1)!.url).toBe('/v1/chat/completions');
    expect(lastProviderBody()).toEqual({
      model: 'm',
      max_tokens: 50,
      response_format: { type: 'json_object' },
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'hello' },
      ],
    });
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      output_text: 'hi',
      metadata: { a: 'b' },
      error: null,
      incomplete_details: null,
      instructions: 'be brief',
      store: true,
      usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
    });
    expect(response.id).toMatch(/^resp_gw[0-9a-f]{32}$/);
    const { output_text: _, ...reported } = response;
    expect(await client.responses.retrieve(response.id)).toMatchObject(reported);
    expect((await client.responses.inputItems.list(response.id)).data).toMatchObject([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
    ]);
    await expect(other.responses.retrieve(response.id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(other.responses.delete(response.id)).rejects.toBeInstanceOf(NotFoundError);
    await client.responses.delete(response.id);
    await expect(client.responses.retrieve(response.id)).rejects.toBeInstanceOf(NotFoundError);
  });

  it('continues earlier responses with their text, tool calls and tool results', async () => {
    const message = { role: 'assistant', content: null, tool_calls: [called] };
    const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];
    inference.upstream.script = (_, response) => sendJson(response, { ...chatAnswer, choices });
    const first = await client.responses.create({ model: 'm', input: 'how is it?', tools: [tool] });
    expect(first.output).toMatchObject([
      { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"in":"Bern"}' },
    ]);
    inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
    const second = await client.responses.create({
      model: 'm',
      previous_response_id: first.id,
      tools: [tool],
      input: [{ type: 'function_call_output', call_id: 'call_1', output: 'sun' }],
    });
    expect(second.previous_response_id).toBe(first.id);
    const turns = [
      { role: 'user', content: [{ type: 'text', text: 'how is it?' }] },
      { role: 'assistant', content: null, tool_calls: [called] },
      { role: 'tool', tool_call_id: 'call_1', content: 'sun' },
    ];
    expect(lastProviderBody().messages).toEqual(turns);
    await client.responses.create({ model: 'm', previous_response_id: second.id, input: 'and?' });
    const more = { role: 'assistant', content: 'hi' };
    expect(lastProviderBody().messages).toEqual([
      ...turns,
      more,
      { role: 'user', content: 'and?' },
    ]);
    const elsewhere = { model: 'm', previous_response_id: second.id, input: 'x' };
    await expect(other.responses.create(elsewhere)).rejects.toBeInstanceOf(NotFoundError);
    await client.responses.delete(first.id);
    await expect(client.responses.create(elsewhere)).rejects.toBeInstanceOf(NotFoundError);
  });

  it('is not stored when the caller disables that', async () => {
    const { id } = await client.responses.create({ model: 'm', input: 'hello', store: false });
    await expect(client.responses.retrieve(id)).rejects.toBeInstanceOf(NotFoundError);
  });

  it('is rejected when a chat cannot express the request', async () => {
    const tools = [{ type: 'web_search' as const }];
    const refused = client.responses.create({ model: 'm', input: 'hello', tools });
    await expect(refused).rejects.toMatchObject({ code: 'not_translatable', status: 400 });
    expect(inference.upstream.reached).toEqual([]);
  });

  it('is created with the Anthropic format as well', async () => {
    inference.upstream.script = (_, response) =>
      sendJson(response, {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'c',
        stop_reason: 'end_turn',
        content: [{ type: 'text', text: 'hi' }],
        usage: { input_tokens: 3, output_tokens: 1 },
      });
    const response = await other.responses.create({ model: 'c', input: 'hello' });
    expect(inference.upstream.reached.at(-1)!.url).toBe('/v1/messages');
    expect([response.output_text, response.usage?.input_tokens]).toEqual(['hi', 3]);
  });
});

describe('a streamed response that the gateway stores', () => {
  it('returns every event in order, and again from any event on', async () => {
    const begun = streamScript();
    const stream = await client.responses.create({ model: 'm', input: 'hello', stream: true });
    const chat = await begun;
    chat.say({ role: 'assistant', content: 'su' }, { content: 'n' });
    chat.say({ tool_calls: [{ index: 0, ...called }] });
    chat.end('tool_calls');
    const events = await all(stream);
    expect(events.map(({ type }) => type.replace('response.', ''))).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
    expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()]);
    const last = events.at(-1) as { response: OpenAI.Responses.Response };
    expect(last.response).toMatchObject({ status: 'completed', usage: { total_tokens: 7 } });
    const { id } = last.response;
    expect(await client.responses.retrieve(id)).toMatchObject(last.response);
    for (const after of [-1, 0, 5, events.length - 2]) {
      const again = await client.responses.retrieve(id, { stream: true, starting_after: after });
      expect(await all(again)).toEqual(events.slice(after + 1));
    }
  });

  it('continues after its caller disconnects, and the caller can resume in the middle', async () => {
    const begun = streamScript();
    const stream = await client.responses.create({ model: 'm', input: 'hello', stream: true });
    const chat = await begun;
    chat.say({ content: 'a' });
    const seen: ResponseStreamEvent[] = [];
    for await (const event of stream) {
      seen.push(event);
      if (event.type === 'response.output_text.delta') break;
    }
    const { id } = (seen[0] as { response: { id: string } }).response;
    expect(await client.responses.retrieve(id)).toMatchObject({ status: 'in_progress' });
    const again = await client.responses.retrieve(id, {
      stream: true,
      starting_after: seen.at(-1)!.sequence_number,
    });
    chat.say({ content: 'b' });
    chat.end();
    const rest = await all(again);
    const events = [...seen, ...rest];
    expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()]);
    expect(rest.at(-1)).toMatchObject({ type: 'response.completed' });
    expect((await client.responses.retrieve(id)).output_text).toBe('ab');
  });

  it('has every event that a caller received, at whatever moment its gateway is killed', async () => {
    const begun = streamScript();
    const stream = await client.responses.create({ model: 'm', input: 'hello', stream: true });
    const chat = await begun;
    const events = stream[Symbol.asyncIterator]();
    const seen: ResponseStreamEvent[] = [];
    let id = '';
    for (const content of ['a', 'b', 'c']) {
      chat.say({ content });
      for (let type = ''; type !== 'response.output_text.delta'; ) {
        const event = (await events.next()).value as ResponseStreamEvent;
        if (event.type === 'response.created') id = event.response.id;
        type = event.type;
        seen.push(event);
      }
      const starting_after = seen.length - 2;
      const again = await client.responses.retrieve(id, { stream: true, starting_after });
      for await (const event of again) {
        expect(event).toEqual(seen.at(-1));
        break;
      }
    }
    const { db } = inference.server.database;
    await db.updateTable('responses').set({ alive_until: 0 }).where('id', '=', id).execute();
    const reported = await all(await client.responses.retrieve(id, { stream: true }));
    expect(reported.slice(0, -1)).toEqual(seen);
    const failed = { type: 'response.failed', sequence_number: seen.length };
    expect(reported.at(-1)).toMatchObject(failed);
    const starting_after = seen.length - 1;
    const rest = await all(await client.responses.retrieve(id, { stream: true, starting_after }));
    expect(rest).toMatchObject([failed]);
    chat.end();
    expect(await all({ [Symbol.asyncIterator]: () => events })).toEqual(rest);
  });

  it('returns a bare error of four strings when it cannot be deleted', async () => {
    const { id } = await client.responses.create({ model: 'm', input: 'hello' });
    await client.responses.delete(id);
    for (const [owner, deleted] of [
      [client, id],
      [client, 'resp_gw00000000000000000000000000000000'],
      [other, id],
    ] as const) {
      const response = await fetch(`${owner.baseURL}/responses/${deleted}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${owner.apiKey}` },
      });
      const body = (await response.json()) as Record<string, unknown>;
      expect(response.status).toBe(404);
      expect(body).toEqual({
        message: expect.any(String),
        type: 'not_found_error',
        param: expect.any(String),
        code: 'not_found',
      });
    }
  });

  it('leaves nothing behind when it is deleted while it runs', async () => {
    const begun = streamScript();
    const stream = await client.responses.create({ model: 'm', input: 'hello', stream: true });
    const chat = await begun;
    chat.say({ content: 'a' });
    const events = stream[Symbol.asyncIterator]();
    const { id } = ((await events.next()).value as { response: { id: string } }).response;
    await client.responses.delete(id);
    chat.say({ content: 'b' });
    chat.end();
    await expect(all({ [Symbol.asyncIterator]: () => events })).rejects.toThrow();
    const { db } = inference.server.database;
    const rows = db.selectFrom('response_events').where('response_id', '=', id);
    expect(await rows.selectAll().execute()).toEqual([]);
  });

  it('ends with a failure event when the provider aborts, and cannot be continued', async () => {
    const begun = streamScript();
    const stream = await client.responses.create({ model: 'm', input: 'hello', stream: true });
    const chat = await begun;
    chat.say({ content: 'a' });
    const events = stream[Symbol.asyncIterator]();
    const first = (await events.next()).value as { response: { id: string } };
    chat.breakOff();
    const rest = await all({ [Symbol.asyncIterator]: () => events });
    expect(rest.at(-1)).toMatchObject({ type: 'response.failed' });
    const { id } = first.response;
    expect(await client.responses.retrieve(id)).toMatchObject({ status: 'failed' });
    const more = client.responses.create({ model: 'm', input: 'x', previous_response_id: id });
    await expect(more).rejects.toBeInstanceOf(BadRequestError);
  });

  it('is cancelled in the background by its owner only, and stays cancelled', async () => {
    const begun = streamScript();
    const lastProviderBody = {
      model: 'm',
      input: 'hello',
      stream: true,
      background: true,
    } as const;
    const stream = await client.responses.create(lastProviderBody);
    const chat = await begun;
    chat.say({ content: 'a' });
    const events = stream[Symbol.asyncIterator]();
    const first = (await events.next()).value as ResponseStreamEvent;
    const { id } = (first as { response: { id: string } }).response;
    await expect(other.responses.cancel(id)).rejects.toBeInstanceOf(NotFoundError);
    expect(await client.responses.cancel(id)).toMatchObject({ id, status: 'cancelled' });
    chat.end();
    const reported = [first, ...(await all({ [Symbol.asyncIterator]: () => events }))];
    expect(reported.at(-1)).toMatchObject({ type: 'response.cancelled', response: { id } });
    expect(reported.map((event) => event.sequence_number)).toEqual([...reported.keys()]);
    expect(await all(await client.responses.retrieve(id, { stream: true }))).toEqual(reported);
    expect(await client.responses.cancel(id)).toMatchObject({ status: 'cancelled' });
  });

  it('is polled in the background until it ends, and requires storing', async () => {
    const inBackground = { model: 'm', input: 'hello', background: true } as const;
    const unkept = client.responses.create({ ...inBackground, store: false });
    await expect(unkept).rejects.toMatchObject({ status: 400, param: 'store' });
    const begin = async () => {
      const begun = streamScript();
      const creating = client.responses.create(inBackground);
      const chat = await begun;
      chat.say({ content: 'a' });
      const response = await creating;
      expect(response).toMatchObject({ status: 'in_progress', background: true, output: [] });
      return { chat, id: response.id };
    };
    const becomes = (id: string, status: string) =>
      eventually(async () => {
        const response = await client.responses.retrieve(id);
        expect(response.status).toBe(status);
        return response;
      });
    const done = await begin();
    done.chat.say({ content: 'b' });
    expect(await client.responses.retrieve(done.id)).toMatchObject({ status: 'in_progress' });
    done.chat.end();
    expect((await becomes(done.id, 'completed')).output_text).toBe('ab');
    const events = await all(await client.responses.retrieve(done.id, { stream: true }));
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
    const unwanted = await begin();
    await client.responses.cancel(unwanted.id);
    unwanted.chat.end();
    await becomes(unwanted.id, 'cancelled');
    const broken = await begin();
    broken.chat.breakOff();
    await becomes(broken.id, 'failed');
    inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
    expect(await client.responses.create(inBackground)).toMatchObject({ status: 'completed' });
    inference.upstream.script = (_, response) =>
      sendJson(response, { error: { message: 'no' } }, 429);
    await expect(client.responses.create(inBackground)).rejects.toMatchObject({ status: 429 });
  });

  it('fails one minute after the last heartbeat of its process', async () => {
    const { db } = inference.server.database;
    const { id } = await client.responses.create({ model: 'm', input: 'hello' });
    const lost = { status: 'in_progress' as const, alive_until: inference.server.clock.now() - 1 };
    const record = JSON.stringify({ id, status: 'in_progress', output: [] });
    await db
      .updateTable('responses')
      .set({ ...lost, record })
      .where('id', '=', id)
      .execute();
    const events = await all(await client.responses.retrieve(id, { stream: true }));
    expect(events).toMatchObject([{ type: 'response.failed', sequence_number: 0 }]);
    await eventually(async () => {
      expect(await client.responses.retrieve(id)).toMatchObject({ status: 'failed' });
    });
  });

  it('is marked as failed once without any reader, and not while its process sends heartbeats', async () => {
    const { database, clock } = inference.server;
    const begun = streamScript();
    const stream = await client.responses.create({ model: 'm', input: 'hello', stream: true });
    const chat = await begun;
    chat.say({ content: 'a' });
    const events = stream[Symbol.asyncIterator]();
    const { id } = ((await events.next()).value as { response: { id: string } }).response;
    const run = () => endLostResponses().run(jobContext(database, clock.now()));
    const row = () =>
      database.db
        .selectFrom('responses')
        .select(['status', 'alive_until', 'record'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
    expect(await run()).toEqual({ failed: 0 });
    expect(await row()).toMatchObject({ status: 'in_progress' });
    await database.db
      .updateTable('responses')
      .set({ alive_until: clock.now() - 1 })
      .where('id', '=', id)
      .execute();
    const runs = await Promise.all([run(), run(), run()]);
    expect(runs.reduce((sum, { failed }) => sum + failed!, 0)).toBe(1);
    const { record, ...reported } = await row();
    expect(reported).toEqual({ status: 'failed', alive_until: null });
    const error = { code: 'server_error', message: expect.stringContaining('stopped before') };
    expect(JSON.parse(record)).toMatchObject({ id, status: 'failed', error });
    chat.end();
    const rest = await all({ [Symbol.asyncIterator]: () => events });
    expect(rest.at(-1)).toMatchObject({ type: 'response.failed' });
    expect(await row()).toEqual({ record, ...reported });
  });
});
