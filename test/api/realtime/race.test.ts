/** Verifies that responses of sessions in three processes never use more than a budget together. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { keyUnits } from '../../support/rows/usage-rows.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type RealtimeServer, startRealtime } from '../../support/server/realtime.ts';
import { beginResponse, endResponse } from '../../support/upstream/realtime-provider.ts';

let realtime: RealtimeServer;
const started = new AsyncDisposableStack();
const urls: string[] = [];

beforeAll(async () => {
  realtime = started.use(await startRealtime());
  const { settings, clock, inferenceUrl } = realtime.server;
  urls.push(inferenceUrl);
  for (let beside = 0; beside < 2; beside += 1) {
    const overrides = {
      clock,
      readSharedTime: async () => clock.now(),
      components: ['gateway'] as const,
    };
    const app = started.use(await createApp({ ...settings, logLevel: 'error' }, overrides));
    urls.push((await app.listen()).inferenceUrl!);
  }
});

afterAll(() => started.disposeAsync());

it('keeps the journal of the provider within the budget, and charges what it contains', async () => {
  const { provider } = realtime;
  provider.answer = (session, event) => {
    const id = beginResponse(session);
    const { max_output_tokens: most } = event.response as { max_output_tokens: number };
    endResponse(provider, session, id, { input: 500, output: Math.min(most, 700) });
  };
  const limit = 40_000;
  const { key, id } = await realtime.addKey({
    usage_limits: { type: 'tokens', credit_limit: limit },
  });
  const callers = await Promise.all(
    urls.flatMap((url) => [realtime.connect(key, { url }), realtime.connect(key, { url })]),
  );
  await Promise.all(
    callers.map(async (caller) => {
      let refusals = 0;
      for (let at = 0; at < 60 && refusals < 2; at += 1) {
        caller.send({ type: 'response.create' });
        const next = await eventually(() => {
          const answered = caller.received.filter(
            ({ type }) => type === 'response.done' || type === 'error',
          );
          if (answered.length <= at) throw new Error('no answer yet');
          return answered[at]!;
        });
        if (next.type === 'error') refusals += 1;
      }
      expect(refusals).toBe(2);
      caller.socket.close();
      await caller.closed;
    }),
  );
  const used = provider.journal.reduce((sum, { input, output }) => sum + input + output, 0);
  expect(used).toBeLessThanOrEqual(limit);
  expect(used).toBeGreaterThan(limit / 2);
  await eventually(async () => expect(await keyUnits(realtime.server.database.db, id)).toBe(used));
});
