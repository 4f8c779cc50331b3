/**
 * Verifies key proofs: they tell those who may write keys whose a value is, return no value, and
 * are limited.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeApiKey } from '../../../../src/model/people/credentials.ts';
import { startTestServer, type TestServer } from '../../../support/server/server.ts';
import { addTenant, type Send } from '../../../support/server/tenant.ts';

let server: TestServer;
let first: { id: string; key: string };
let second: { id: string; key: string };

beforeAll(async () => {
  server = await startTestServer();
  [first, second] = await Promise.all([make('one'), make('two')]);
});
beforeEach(() => server.clock.advance(61_000));
afterAll(() => server[Symbol.asyncDispose]());

async function make(name: string): Promise<{ id: string; key: string }> {
  const body = { name, scopes: ['completions.write'] };
  return (await server.request('POST', '/v1/api-keys/organisation/service', { body })).body;
}

function prove(keys: unknown, send: Send = server.request) {
  return send('POST', '/admin/v2/gatewright/key-proofs', { body: { keys } });
}

describe('key proofs', () => {
  it('returns for each value whether it belongs to the key, or to which other key, in order', async () => {
    const nobodys = makeApiKey('');
    const answer = await prove([
      { id: first.id, value: first.key },
      { id: first.id.toUpperCase(), value: first.key },
      { id: first.id, value: second.key },
      { id: second.id, value: nobodys },
      { id: randomUUID(), value: first.key },
      { value: second.key },
    ]);
    expect(answer.status).toBe(200);
    expect(
      answer.body.data.map(({ matches, holder }: Record<string, unknown>) => [matches, holder]),
    ).toEqual([
      [true, first.id],
      [true, first.id],
      [false, second.id],
      [false, null],
      [false, first.id],
      [false, second.id],
    ]);
    for (const value of [first.key, second.key, nobodys]) {
      expect(JSON.stringify([answer.body, server.logLines])).not.toContain(value);
    }
  });

  it("reveals nothing of another tenant's keys or of a deleted key", async () => {
    const tenant = await addTenant(server, 'proofs-other');
    const theirs = await prove([{ id: first.id, value: first.key }], tenant.send);
    expect(theirs.body.data).toMatchObject([{ matches: false, holder: null }]);
    const gone = await make('gone');
    await server.request('DELETE', `/v1/api-keys/${gone.id}`);
    const answer = await prove([{ id: gone.id, value: gone.key }]);
    expect(answer.body.data).toMatchObject([{ matches: false, holder: null }]);
  });

  it('is limited to 20 requests a minute with wrong values, and unlimited with correct ones', async () => {
    const wrong = [{ id: first.id, value: makeApiKey('') }];
    const statuses: number[] = [];
    for (let tried = 0; tried < 21; tried += 1) statuses.push((await prove(wrong)).status);
    expect(statuses).toEqual([...Array(20).fill(200), 429]);
    expect((await prove([{ id: first.id, value: first.key }])).status).toBe(200);
    server.clock.advance(61_000);
    expect((await prove(wrong)).status).toBe(200);
  });

  it.each([
    ['keys', []],
    ['keys', Array(201).fill({ value: 'x' })],
    ['keys[0].value', [{ value: '' }]],
    ['keys[0].value', [{ value: 'x'.repeat(129) }]],
    ['keys[0].id', [{ id: 'x', value: 'x' }]],
  ])('returns 400 for an invalid %s', async (param, keys) => {
    expect(await prove(keys)).toMatchObject({ status: 400, body: { error: { param } } });
  });
});
