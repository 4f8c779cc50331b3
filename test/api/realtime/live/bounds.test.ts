/** Verifies that sessions of Gemini's live API are bounded in time and memory, whoever stays silent or does not read. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { eventually } from '../../../support/server/eventually.ts';
import { type LiveServer, startLive } from '../../../support/server/live.ts';

let live: LiveServer;
let key: string;

beforeAll(async () => {
  live = await startLive();
  ({ key } = await live.addKey());
});

afterAll(() => live[Symbol.asyncDispose]());

const mebibyte = 1024 * 1024;

/** A caller without the client of Google, which always reads. */
function plainCaller(): WebSocket {
  const url = `${live.server.inferenceUrl.replace(/^http/, 'ws')}/v1beta/live?key=${key}`;
  const config = { provider: 'google', custom_host: live.provider.url, api_key: 'p' };
  const headers = { 'x-gateway-config': JSON.stringify(config) };
  return new WebSocket(url, { headers, perMessageDeflate: false });
}

describe('a live session', () => {
  it('reads no more from a provider than a caller that does not read can receive', async () => {
    const opened = live.provider.next();
    const caller = plainCaller();
    caller.on('open', () => caller.send('{"setup":{"model":"models/m"}}'));
    const { socket, send } = await opened;
    caller.pause();
    const text = 'x'.repeat(mebibyte);
    const serverContent = { modelTurn: { parts: [{ text }] } };
    for (let at = 0; at < 64; at += 1) send({ serverContent });
    await eventually(() => expect(socket.bufferedAmount).toBeGreaterThan(16 * mebibyte));
    caller.resume();
    await eventually(() => expect(socket.bufferedAmount).toBe(0));
    caller.close();
  });

  it('ends when the provider never answers the setup', async () => {
    const { provider } = live;
    provider.isSilent = true;
    const opening = live.connect(key, { config: { request_timeout: 200 } });
    await expect(opening).rejects.toThrow(/1008.*request_timeout|1011/);
    provider.isSilent = false;
    await eventually(() => expect(provider.sessions.at(-1)!.socket.readyState).toBe(3));
  });

  it.each([
    ['no JSON', 'hello', 'invalid_request'],
    ['another message', '{"clientContent":{}}', 'invalid_request'],
    ['a setup without a model', '{"setup":{}}', 'invalid_request'],
    [
      'a member in two spellings',
      '{"setup":{"model":"m","safetySettings":1,"safety_settings":2}}',
      'invalid_request',
    ],
  ])('ends when it begins with %s', async (_, text, code) => {
    const caller = plainCaller();
    caller.on('open', () => caller.send(text));
    const { promise, resolve } = Promise.withResolvers<readonly [number, string]>();
    caller.on('close', (status, reason) => resolve([status, String(reason)]));
    const [status, reason] = await promise;
    expect(status).toBe(1008);
    expect(reason).toContain(code);
  });

  it('frees the place of a caller who leaves before the setup', async () => {
    const { sessionsOfKeyMax } = live.server.settings.inference.realtime;
    for (let at = 0; at < sessionsOfKeyMax; at += 1) {
      const caller = plainCaller();
      await new Promise((resolve) => caller.once('open', resolve));
      caller.terminate();
    }
    await eventually(async () => {
      const { session } = await live.connect(key);
      session.close();
      expect(session.setupComplete).toBeDefined();
    });
  });
});
