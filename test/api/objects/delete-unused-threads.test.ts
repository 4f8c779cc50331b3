/**
 * Verifies that unused threads are deleted with their contents after the retention time, and not
 * earlier.
 */
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { deleteUnusedThreads } from '../../../src/jobs/delete-unused-threads.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { jobContext } from '../../support/server/job-context.ts';

let inference: Inference;
let client: OpenAI;
const dayMs = 86_400_000;
const job = deleteUnusedThreads({ threadDays: 60 });

beforeAll(async () => {
  inference = await startInference();
  const { key } = await inference.addKey();
  const baseURL = `${inference.server.inferenceUrl}/v1`;
  client = new OpenAI({ apiKey: key, baseURL, maxRetries: 0, timeout: 600_000 });
});

afterAll(() => inference[Symbol.asyncDispose]());

it('deletes what was unused for sixty days, and nothing that was used since or during the run', async () => {
  const { database, clock } = inference.server;
  const { threads } = client.beta;
  const messages = [{ role: 'user' as const, content: 'hello' }];
  const [unused, used, late] = [
    await threads.create({ messages }),
    await threads.create({ messages }),
    await threads.create({ messages }),
  ];
  clock.advance(dayMs);
  await threads.messages.create(used!.id, messages[0]!);
  clock.advance(59 * dayMs);
  const context = jobContext(database, clock.now());
  let isUsed = false;
  const run = await job.run({
    ...context,
    transaction: async (work) => {
      // Between finding an unused thread and deleting it.
      if (!isUsed) await threads.messages.create(late!.id, messages[0]!);
      isUsed = true;
      return context.transaction(work);
    },
  });
  expect(run).toEqual({ deleted: 1 });
  await expect(threads.retrieve(unused!.id)).rejects.toMatchObject({ status: 404 });
  expect((await threads.messages.list(used!.id)).data).toHaveLength(2);
  expect((await threads.messages.list(late!.id)).data).toHaveLength(2);
  const left = await database.db.selectFrom('thread_messages').select('thread_id').execute();
  expect(left).toHaveLength(4);
  expect(await job.run(jobContext(database, clock.now()))).toEqual({ deleted: 0 });
});
