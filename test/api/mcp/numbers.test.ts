/** Verifies that numbers pass with all their digits, in both directions, relayed, bridged and beside changed texts. */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseExactJson } from '../../../src/model/json/exact-numbers.ts';
import { callInBytes, eraWays } from '../../support/mcp/era-client.ts';
import { speakOnly } from '../../support/mcp/one-era.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../support/server/mcp-plane.ts';

let plane: McpTestPlane;
let key: string;

beforeAll(async () => {
  plane = await startMcpTestPlane();
  ({ key } = await plane.addKey());
});
beforeEach(() => {
  plane.upstream.journal.length = 0;
});
afterAll(() => plane[Symbol.asyncDispose]());

const secret = 'mellon';
const redaction = {
  id: 'default.regexReplace',
  parameters: { rule: secret, redactText: '***' },
};

/** Numbers that most readers of JSON write in another form, or round. */
const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9][0-9]{0,30}$/)),
    fc.oneof(fc.constant(''), fc.stringMatching(/^\.[0-9]{1,30}$/)),
    fc.oneof(fc.constant(''), fc.stringMatching(/^[eE][+-]?[0-9]{1,3}$/)),
  )
  .map((parts) => parts.join(''));
const numbers = fc.array(number, { minLength: 1, maxLength: 12 }).map((some) => some.join(','));
const examples: [string][] = [['9007199254740993,0.12345678901234567890,-0,1e400,1.0,1E+2']];

interface Call {
  /** The body of the call as its server received it. */
  readonly sent: string;
  /** The response as its client received it. */
  readonly received: string;
}

/** Calls a tool with the numbers; the server returns them. */
async function callWith(client: 'legacy' | 'modern', slug: string, list: string): Promise<Call> {
  const { upstream } = plane;
  const result = `{"content":[{"type":"text","text":"${secret}"}],"structuredContent":{"n":[${list}]}}`;
  upstream.answer = ({ method }) =>
    method === 'tools/call' ? { result: parseExactJson(result) as object } : null;
  const args = `{"text":"${secret}","n":[${list}]}`;
  const { status, text: received } = await callInBytes(plane, { client, key, slug, args });
  expect([status, received]).toEqual([200, expect.any(String)]);
  const called = upstream.journal.findLast((entry) => entry.body?.method === 'tools/call');
  return { sent: called!.text, received };
}

describe.each(eraWays)('a call %s', (_, client, speaks) => {
  it.each([false, true])('passes all digits, streamed: %s', async (isStream) => {
    speakOnly(plane.upstream, speaks);
    plane.upstream.streams = isStream;
    const { slug } = await plane.addServer();
    await fc.assert(
      fc.asyncProperty(numbers, async (list) => {
        const { sent, received } = await callWith(client, slug, list);
        expect([sent, received]).toEqual([
          expect.stringContaining(`"n":[${list}]`),
          expect.stringContaining(`"n":[${list}]`),
        ]);
      }),
      { numRuns: 15, examples },
    );
  });

  it.each([false, true])(
    'passes all digits beside a redacted text, streamed: %s',
    async (isStream) => {
      speakOnly(plane.upstream, speaks);
      plane.upstream.streams = isStream;
      const server = await plane.addServer();
      await plane.guard(server, [redaction], { run_on: ['input', 'output'] }, { deny: false });
      await fc.assert(
        fc.asyncProperty(numbers, async (list) => {
          const { sent, received } = await callWith(client, server.slug, list);
          expect([sent, received]).toEqual([
            expect.stringContaining(`"n":[${list}]`),
            expect.stringContaining(`"n":[${list}]`),
          ]);
          expect([sent, received].map((text) => text.includes('"***"'))).toEqual([true, true]);
          expect(`${sent} ${received}`).not.toContain(secret);
        }),
        { numRuns: 15, examples },
      );
    },
  );
});

describe('a guardrail', () => {
  const card = '4111111111111111';
  const forms = [
    `${card}.00000000000000`,
    `${card}e0`,
    '4.111111111111111e15',
    `00${card}`.replace(/^00/, '0.'),
  ];

  it.each(eraWays)(
    'judges the digits and the value of a number in a call %s',
    async (_, client, speaks) => {
      speakOnly(plane.upstream, speaks);
      plane.upstream.streams = false;
      const server = await plane.addServer();
      const check = { id: 'default.regexMatch', parameters: { rule: '41{15}', not: true } };
      await plane.guard(server, [check], { run_on: ['output'] });
      for (const form of forms) {
        const { received } = await callWith(client, server.slug, form);
        expect(received).toContain('-32446');
        expect(received).not.toContain('1111');
      }
    },
  );

  it('replaces a number whose digits it redacts', async () => {
    speakOnly(plane.upstream, 'both');
    const server = await plane.addServer();
    const check = { ...redaction, parameters: { rule: '41{15}', redactText: '***' } };
    await plane.guard(server, [check], { run_on: ['input', 'output'] }, { deny: false });
    const { sent, received } = await callWith('legacy', server.slug, `1.0,${card}000,2.0`);
    expect([sent, received]).toEqual([
      expect.stringContaining('"n":[1.0,"***000",2.0]'),
      expect.stringContaining('"n":[1.0,"***000",2.0]'),
    ]);
  });
});
