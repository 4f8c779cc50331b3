/**
 * Verifies that work on the longest bodies gives turns of the event loop to other requests: cache keys, forms,
 * events of webhooks, rendered prompts, and messages of MCP; and that its results are those of short bodies.
 */
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Exchange } from '../../../src/gateway/callers/exchange.ts';
import type { GatewayKey } from '../../../src/gateway/callers/gateway-key.ts';
import { cacheUseOf } from '../../../src/gateway/calls/response-cache.ts';
import { Prompts, type PromptsOptions } from '../../../src/gateway/inference/prompts.ts';
import type { ResolvedTarget } from '../../../src/gateway/targets/resolve-target.ts';
import { readFormParts } from '../../../src/gateway/transfer/form-fields.ts';
import type { CheckSubject } from '../../../src/guardrails/check.ts';
import { outboundChecks } from '../../../src/guardrails/outbound-checks.ts';
import { judgeTexts } from '../../../src/mcp/judging/judge-texts.ts';
import { readMessages } from '../../../src/mcp/messages/read-messages.ts';
import { readServerBody, writeServerJson } from '../../../src/mcp/messages/server-json.ts';
import { buildConfigTree, type ConfigLeaf } from '../../../src/model/configs/config-tree.ts';
import type { Outbound } from '../../../src/upstream/outbound.ts';
import { countTurns } from '../../support/run/turns.ts';

const mebibyte = 1024 * 1024;
const bounds = { valuesMax: 200_000, depthMax: 100 };
const long = 'a'.repeat(8 * mebibyte);

describe('a cache key', () => {
  const { settings } = buildConfigTree({ cache: { mode: 'simple' } }) as ConfigLeaf;
  const useOf = (body: string) => {
    const request = { method: 'POST', headers: {} } as IncomingMessage;
    const key = { organisationId: 'o', workspace: null };
    const params = { model: 'm' };
    const path = '/chat/completions';
    const fields = { request, header: () => undefined, path, params, isJson: true, key };
    const call = { origin: 'https://a', path, headers: {}, body: Buffer.from(body) };
    const target = { provider: 'openai', call } as unknown as ResolvedTarget;
    return cacheUseOf(settings, target, fields as unknown as Exchange);
  };

  it('is computed in turns for a long body, and at once for a short one', async () => {
    expect(useOf('{"model":"m"}')).not.toBeInstanceOf(Promise);
    const { turns, value } = await countTurns(() => useOf(`{"model":"m","prompt":"${long}"}`));
    expect(turns).toBeGreaterThan(8);
    const reordered = await useOf(`{"prompt":"${long}","model":"m"}`);
    const other = await useOf(`{"prompt":"${long}b","model":"m"}`);
    expect([reordered.key, other.key === value.key]).toEqual([value.key, false]);
  });
});

describe('a multipart form', () => {
  const type = 'multipart/form-data; boundary=b';
  const form = (end: string) =>
    Buffer.from(
      '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n' +
        '--b\r\ncontent-disposition: form-data; name="file"; filename="f.jsonl"\r\n' +
        `content-type: application/jsonl\r\n\r\n${long}\r\n${end}`,
    );

  it('is read in turns, to the same parts', async () => {
    const { turns, value } = await countTurns(() => readFormParts(form('--b--\r\n'), type));
    expect(turns).toBeGreaterThan(30);
    expect(value.map(({ name, bytes }) => [name, bytes.length])).toEqual([
      ['model', 1],
      ['file', long.length],
    ]);
  });

  it('is refused where it is invalid, however long it is', async () => {
    await expect(readFormParts(form(''), type)).rejects.toThrow('not a valid form');
    const many = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(20_000);
    await expect(readFormParts(Buffer.from(`${many}--b--\r\n`), type)).rejects.toThrow('too many');
  });
});

describe('the event of a webhook', () => {
  it('is written in turns, and the texts of its reply are read in turns', async () => {
    const content = Array.from({ length: 60_000 }, (_, at) => `text ${at}`);
    const params = { messages: content };
    const passages = content.map((text, at) => ({ path: ['messages', at], text }));
    const sent: Buffer[] = [];
    const outbound = {
      request: async ({ body }: { body: Buffer }) => {
        sent.push(body);
        const json = { messages: content.map((text) => `${text}!`) };
        const reply = { verdict: true, transformedData: { request: { json } } };
        return { status: 200, body: Buffer.from(JSON.stringify(reply)) };
      },
    } as unknown as Outbound;
    const subject = { side: 'input', params, passages, answer: null, headers: {}, metadata: {} };
    const check = outboundChecks['default.webhook']!({ webhookURL: 'https://a' }, outbound);
    const { turns, value } = await countTurns(() => check(subject as unknown as CheckSubject));
    expect(turns).toBeGreaterThan(100);
    expect(value.texts?.at(-1)).toBe('text 59999!');
    expect(JSON.parse(`${sent[0]}`).request).toMatchObject({ json: params, isTransformed: false });
  });
});

describe('a rendered prompt', () => {
  it('is written in turns, to the same bytes', async () => {
    const params = { model: 'm', messages: [{ role: 'user', content: long }] };
    const prompt = {
      slug: 'p',
      workspaceId: 'w',
      content: { virtual_key: null },
      template: { render: () => params },
      partials: {},
    };
    const cache = { peek: () => prompt } as unknown as PromptsOptions['cache'];
    const unread = {} as PromptsOptions;
    const prompts = new Prompts({ ...unread, cache });
    const key = { organisationId: 'o', workspace: null, scopes: [] } as unknown as GatewayKey;
    const path = { reference: 'p', action: 'completions' } as const;
    const fill = (body: Buffer) => () => prompts.fill(key, path, { params: {}, body });
    const { turns, value } = await countTurns(fill(Buffer.alloc(mebibyte)));
    expect(turns).toBeGreaterThan(60);
    const { value: short } = await countTurns(fill(Buffer.alloc(1)));
    expect(value.body!.equals(short.body!)).toBe(true);
  });
});

describe('a message of MCP', () => {
  const call = (value: unknown) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 't', arguments: { value } },
  });

  it('is read in turns', async () => {
    const body = Buffer.from(JSON.stringify(call(long)));
    const { turns, value } = await countTurns(() => readMessages(body, bounds));
    expect(turns).toBeGreaterThan(3);
    expect(value.messages[0]!.params).toEqual(call(long).params);
  });

  it('is judged in turns, each of its texts and numbers', async () => {
    const numbers = Array.from({ length: 50_000 }, (_, at) => 1_000_000 + at);
    const texts = Array.from({ length: 50_000 }, (_, at) => `text ${at}`);
    const judged = { method: 'tools/call', tool: 't', server: 's', params: {}, headers: {} };
    const tenant = { organisationId: 'o', workspaceId: 'w' };
    const about = { ...judged, metadata: {}, traceId: 'x', now: 0, tenant };
    const { turns, value } = await countTurns(() =>
      judgeTexts([], about, 'input', { numbers, texts }),
    );
    expect(turns).toBeGreaterThan(100);
    expect(value.verdict).toBe('passed');
  });

  it('is read and written in turns when a server sends it, and refused beyond the bounds', async () => {
    const message = { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: long }] } };
    const bytes = Buffer.from(JSON.stringify(message));
    const { turns, value } = await countTurns(() => readServerBody(bytes, bounds));
    expect(turns).toBeGreaterThan(1);
    expect(value).toEqual(message);
    const written = await countTurns(() => writeServerJson(message, bytes.length));
    expect(written.turns).toBeGreaterThan(30);
    expect(written.value.equals(bytes)).toBe(true);
    const values = Buffer.from(`[${'0,'.repeat(250_000)}0]`);
    await expect(readServerBody(values, bounds)).rejects.toThrow('has more than 200000 values');
  });
});
