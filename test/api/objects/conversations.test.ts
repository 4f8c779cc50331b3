/** Verifies conversations that the gateway stores: their items, and responses that continue and extend them. */
import type OpenAI from 'openai';
import { BadRequestError, ConflictError, NotFoundError } from 'openai';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { deleteOldResponses } from '../../../src/jobs/delete-old-responses.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { jobContext } from '../../support/server/job-context.ts';
import { objectClient } from '../../support/server/object-client.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

const dayMs = 86_400_000;

let inference: Inference;
let client: OpenAI;
let other: OpenAI;

beforeAll(async () => {
  inference = await startInference();
  client = await objectClient(inference, 'groq');
  other = await objectClient(inference, 'anthropic');
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});

afterAll(() => inference[Symbol.asyncDispose]());

const message = (content: string): ResponseInputItem => ({
  type: 'message',
  role: 'user',
  content,
});

/** Roles and texts of all items, oldest first. */
async function textsIn(id: string, of: OpenAI = client): Promise<string[]> {
  const texts: string[] = [];
  for await (const item of of.conversations.items.list(id, { order: 'asc' })) {
    if (item.type !== 'message') continue;
    const [part] = item.content;
    texts.push(`${item.role}: ${part !== undefined && 'text' in part ? part.text : ''}`);
  }
  return texts;
}

/** Texts of the chat that the provider received last. */
function lastTexts(): string[] {
  const { messages } = JSON.parse(inference.upstream.reached.at(-1)!.body.toString());
  return messages.map(({ content }: { content: string | { text: string }[] }) =>
    typeof content === 'string' ? content : content[0]!.text,
  );
}

describe('a conversation of a provider that offers only chats', () => {
  it('is created with items, read, updated and deleted', async () => {
    const made = await client.conversations.create({
      metadata: { topic: 'weather' },
      items: [message('one'), message('two')],
    });
    expect(made).toMatchObject({ object: 'conversation', metadata: { topic: 'weather' } });
    expect(await textsIn(made.id)).toEqual(['user: one', 'user: two']);
    const updated = await client.conversations.update(made.id, { metadata: { topic: 'news' } });
    expect(updated.metadata).toEqual({ topic: 'news' });
    expect(await client.conversations.retrieve(made.id)).toEqual(updated);
    expect(await client.conversations.delete(made.id)).toMatchObject({ deleted: true });
    await expect(client.conversations.retrieve(made.id)).rejects.toThrow(NotFoundError);
    expect(inference.upstream.reached).toEqual([]);
  });

  it('pages its items in both orders, and adds and deletes single ones', async () => {
    const { id } = await client.conversations.create({});
    const words = ['a', 'b', 'c', 'd', 'e'];
    for (const word of words)
      await client.conversations.items.create(id, { items: [message(word)] });
    expect(await textsIn(id)).toEqual(words.map((word) => `user: ${word}`));
    const newest = await client.conversations.items.list(id, { limit: 2 });
    expect(newest).toMatchObject({ has_more: true, data: [{ role: 'user' }, { role: 'user' }] });
    const all: unknown[] = [];
    for await (const item of client.conversations.items.list(id, { limit: 2 })) all.push(item.id);
    expect(all).toHaveLength(5);
    const middle = all[2] as string;
    expect(
      await client.conversations.items.retrieve(middle, { conversation_id: id }),
    ).toMatchObject({
      content: [{ text: 'c' }],
    });
    await client.conversations.items.delete(middle, { conversation_id: id });
    expect(await textsIn(id)).toEqual(['user: a', 'user: b', 'user: d', 'user: e']);
    const again = client.conversations.items.retrieve(middle, { conversation_id: id });
    await expect(again).rejects.toThrow(NotFoundError);
  });

  it('is continued and extended by responses, whole and streamed', async () => {
    const { id } = await client.conversations.create({ items: [message('my name is Ada')] });
    const first = await client.responses.create({ model: 'm', conversation: id, input: 'hello' });
    expect(first).toMatchObject({ conversation: { id }, previous_response_id: null });
    expect(lastTexts()).toEqual(['my name is Ada', 'hello']);
    const { content } = chatAnswer.choices[0]!.message;
    const expected = ['user: my name is Ada', 'user: hello', `assistant: ${content}`];
    expect(await textsIn(id)).toEqual(expected);
    inference.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = { id: 'c', object: 'chat.completion.chunk', model: 'm' };
      const choice = { index: 0, delta: { content: 'streamed' }, finish_reason: 'stop' };
      response.write(`data: ${JSON.stringify({ ...chunk, choices: [choice] })}\n\n`);
      response.end('data: [DONE]\n\n');
    };
    const stream = await client.responses.create({
      model: 'm',
      conversation: { id },
      input: 'again',
      stream: true,
    });
    for await (const event of stream) {
      if (event.type !== 'response.completed') continue;
      // The items are readable once the response has completed.
      expect(await textsIn(id)).toEqual([...expected, 'user: again', 'assistant: streamed']);
    }
    expect(lastTexts()).toHaveLength(4);
  });

  it('admits one response at a time, and none is lost or mixed in a race', async () => {
    const { id } = await client.conversations.create({});
    const questions = Array.from({ length: 12 }, (_, at) => `question ${at}`);
    const outcomes = await Promise.allSettled(
      questions.map((input) => client.responses.create({ model: 'm', conversation: id, input })),
    );
    const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    for (const reason of refused) expect(reason).toBeInstanceOf(ConflictError);
    const admitted = questions.filter((_, at) => outcomes[at]!.status === 'fulfilled');
    expect(admitted.length).toBeGreaterThan(0);
    const texts = await textsIn(id);
    expect(texts).toHaveLength(2 * admitted.length);
    const pairs = texts.map((text) => text.split(':')[0]);
    expect(pairs).toEqual(admitted.flatMap(() => ['user', 'assistant']));
    expect(new Set(texts.filter((text) => text.startsWith('user')))).toEqual(
      new Set(admitted.map((text) => `user: ${text}`)),
    );
  });

  it('is free again and unchanged after a response that failed', async () => {
    const { id } = await client.conversations.create({ items: [message('kept')] });
    inference.upstream.script = (_, response) => sendJson(response, { error: {} }, 500);
    const failed = client.responses.create({ model: 'm', conversation: id, input: 'lost' });
    await expect(failed).rejects.toMatchObject({ status: 500 });
    expect(await textsIn(id)).toEqual(['user: kept']);
    inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
    await client.responses.create({ model: 'm', conversation: id, input: 'later' });
    expect((await textsIn(id)).slice(0, 2)).toEqual(['user: kept', 'user: later']);
  });

  it('is free again after the process that used it has died', async () => {
    const { id } = await client.conversations.create({});
    const { db } = inference.server.database;
    const held = {
      response_id: 'resp_dead',
      response_until: inference.server.clock.now() + 60_000,
    };
    await db.updateTable('conversations').set(held).where('id', '=', id).execute();
    const create = () => client.responses.create({ model: 'm', conversation: id, input: 'hello' });
    await expect(create()).rejects.toThrow(ConflictError);
    const added = client.conversations.items.create(id, { items: [message('x')] });
    await expect(added).rejects.toThrow(ConflictError);
    inference.server.clock.advance(61_000);
    await create();
    expect(await textsIn(id)).toHaveLength(2);
  });

  it('does not exist for another workspace', async () => {
    const { id } = await client.conversations.create({ items: [message('secret')] });
    await expect(other.conversations.retrieve(id)).rejects.toThrow(NotFoundError);
    await expect(textsIn(id, other)).rejects.toThrow(NotFoundError);
    const created = other.responses.create({ model: 'm', conversation: id, input: 'hello' });
    await expect(created).rejects.toThrow(NotFoundError);
    await expect(other.conversations.delete(id)).rejects.toThrow(NotFoundError);
    expect(await textsIn(id)).toEqual(['user: secret']);
    expect(inference.upstream.reached).toEqual([]);
  });

  it('is refused beside a previous response and without storing', async () => {
    const { id } = await client.conversations.create({});
    const first = await client.responses.create({ model: 'm', input: 'hello' });
    const body = { model: 'm', conversation: id, input: 'hello' };
    const both = client.responses.create({ ...body, previous_response_id: first.id });
    await expect(both).rejects.toMatchObject({ status: 400, param: 'previous_response_id' });
    const unstored = client.responses.create({ ...body, store: false });
    await expect(unstored).rejects.toThrow(BadRequestError);
    // It is not reserved by a refused request.
    await client.responses.create(body);
  });

  it('names the member at fault', async () => {
    const items = Array.from({ length: 21 }, () => message('x'));
    const tooMany = client.conversations.create({ items });
    await expect(tooMany).rejects.toMatchObject({ status: 400, param: 'items' });
    const { id } = await client.conversations.create({});
    const unknown = client.conversations.items.list(id, { after: 'msg_unknown' });
    await expect(unknown).rejects.toMatchObject({ status: 404, param: 'after' });
  });

  it('is deleted when it was not used during the retention of responses', async () => {
    const [old, used] = [
      await client.conversations.create({}),
      await client.conversations.create({}),
    ];
    await client.responses.create({ model: 'm', conversation: old.id, input: 'hello' });
    const now = inference.server.clock.now();
    const { database } = inference.server;
    const ids = [used.id];
    await database.db
      .updateTable('conversations')
      .set({ used_at: now + dayMs })
      .where('id', 'in', ids)
      .execute();
    const job = deleteOldResponses({ responseDays: 30 });
    await job.run(jobContext(database, now + 30 * dayMs));
    await expect(client.conversations.retrieve(old.id)).rejects.toThrow(NotFoundError);
    expect(await client.conversations.retrieve(used.id)).toMatchObject({ id: used.id });
    const left = await database.db.selectFrom('conversation_items').selectAll().execute();
    expect(left.filter((item) => item.conversation_id === old.id)).toEqual([]);
  });
});
