/**
 * Verifies that the most expensive accepted bodies are answered, and larger ones are rejected
 * before they are parsed.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bodyLimitsOf } from '../../../src/http/input/input.ts';
import { keysMax } from '../../../src/model/json/body-limits.ts';
import { everyRoute, pathOf } from '../../support/interface/every-route.ts';
import type { TestResponse } from '../../support/network/exchange.ts';
import { costlyDocuments, hostileBodies } from '../../support/network/hostile-bodies.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

/** Each route on its first mount; all mounts share the code that reads bodies. */
const routes = [
  ...new Map(
    everyRoute()
      .filter(({ route }) => route.body !== undefined)
      .map((mounted) => [mounted.route, mounted] as const)
      .toReversed(),
  ).values(),
];
const cases = routes.map((one) => [`${one.route.method} ${one.pattern}`, one] as const);

describe('a route with a body', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer();
  });

  afterAll(() => server[Symbol.asyncDispose]());

  const send = (mounted: (typeof routes)[number], body: string): Promise<TestResponse> => {
    const basic = Buffer.from(`${server.clientId}:${server.clientSecret}`).toString('base64');
    const isForm = mounted.route.bodyType === 'form';
    return server.request(mounted.route.method, pathOf(mounted), {
      body,
      auth: isForm ? 'none' : 'token',
      headers: isForm
        ? { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' }
        : { 'content-type': 'application/json' },
    });
  };

  // One shape at each place; bench/hostile-bodies.ts sends all of them.
  const rotated = cases.map((one, at) => [...one, at] as const);
  it.each(rotated)('answers the most expensive bodies: %s', async (_, mounted, at) => {
    for (const { name, text } of hostileBodies(mounted.route, at)) {
      const { status } = await send(mounted, text);
      expect([name, [400, 404, 413].includes(status) || status]).toEqual([name, true]);
    }
  });

  it.each(cases)(
    'returns 413 for more bytes, values or keys than the limit: %s',
    async (_, mounted) => {
      const { bytesMax, valuesMax } = bodyLimitsOf(mounted.route);
      const isForm = mounted.route.bodyType === 'form';
      const tooLarge = isForm
        ? ['a'.repeat(bytesMax + 1), 'a=1&'.repeat(valuesMax + 1)]
        : [
            `"${'a'.repeat(bytesMax)}"`,
            `[${'0,'.repeat(valuesMax)}0]`,
            JSON.stringify(
              Object.fromEntries(Array.from({ length: keysMax + 1 }, (_0, at) => [at, 0])),
            ),
          ];
      for (const body of tooLarge) expect((await send(mounted, body)).status).toBe(413);
    },
  );

  it.each(costlyDocuments().map((document) => [document.name, document] as const))(
    'answers a document that is valid or fails late: %s',
    async (_, { path, text }) => {
      const answer = await server.request('POST', path, {
        body: text,
        headers: { 'content-type': 'application/json' },
      });
      expect([200, 400]).toContain(answer.status);
      expect((answer.body.error?.message ?? '').length).toBeLessThan(10_000);
    },
  );

  const minimal: Record<string, object> = {
    '/v1/configs': { name: 'a config', config: {} },
    '/v1/guardrails': { name: 'g', checks: [{ id: 'default.notNull' }], actions: {} },
  };
  const updates = costlyDocuments().flatMap((document) =>
    document.path in minimal ? [[document.name, document] as const] : [],
  );

  it.each(updates)('answers an update as it answers a create: %s', async (_, { path, text }) => {
    const made = await server.request('POST', path, { body: minimal[path] });
    expect(made.status).toBe(200);
    const headers = { 'content-type': 'application/json' };
    const created = await server.request('POST', path, { body: text, headers });
    const updated = await server.request('PUT', `${path}/${made.body.id}`, { body: text, headers });
    expect(updated.status).toBe(created.status);
    expect(updated.body.error?.message).toBe(created.body.error?.message);
  });
});
