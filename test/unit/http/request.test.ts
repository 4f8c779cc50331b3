/**
 * Tests how requests are read: one meaning each, unknown fields by API version, faults with their
 * position.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { refuseAmbiguity } from '../../../src/http/input/ambiguity.ts';
import { createBodyReader } from '../../../src/http/input/input.ts';
import { createQueryReader } from '../../../src/http/input/query.ts';
import { ApiError } from '../../../src/model/wire/errors.ts';

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function errorOf(work: () => unknown): ApiError {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    return error as ApiError;
  }
  throw new Error('nothing was refused');
}

/** Parses the raw headers and the target of an HTTP/1.1 request. */
function refuse(rawHeaders: string[], url: string): ApiError | null {
  return refuseAmbiguity({ rawHeaders, url, httpVersion: '1.1' });
}

describe('an ambiguous request', () => {
  it.each(['Authorization', 'Host', 'X-Gateway-Api-Key', 'Content-Type', 'If-Match'])(
    'rejects a request in which %s came twice',
    (name) => {
      const error = refuse([name, 'a', 'accept', '*', name.toLowerCase(), 'a'], '/v1/x');
      expect(error?.kind).toBe('invalid');
      expect(error?.param).toBe(name.toLowerCase());
    },
  );

  it.each([
    'http://evil/v1/configs',
    '//evil/admin',
    '/v1/%2e%2e/admin',
    '/v1/../admin',
    '/v1/..;/x',
    '/v1/..;a=b/x',
    '/v1/%2e%2E;/x',
    '/v1/..%3b/x',
    '/v1/.;/x',
    '/v1/x/..;',
    '/v1/configs/..%2fadmin',
    '/v1/configs/a%5cb',
    '/v1/configs/a%00b',
    '/v1\\configs',
    '/v1/configs\tx',
    '/v1/configs#x',
    '/v1/%zz',
    '/v1/%ff',
    '*',
    '',
  ])('rejects the target %j', (target) => {
    expect(refuse(['host', 'a'], target)?.kind).toBe('invalid');
  });

  it('accepts every encoded identifier', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (id) => {
        fc.pre(!/[/\\\0]/.test(id) && !/^\.{1,2}$/.test(id));
        const target = `/v1/configs/${encodeURIComponent(id)}?name=${encodeURIComponent(id)}`;
        expect(refuse(['host', 'a'], target)).toBeNull();
      }),
    );
  });
});

const put = { method: 'PUT' } as const;
const post = { method: 'POST' } as const;

describe('a body', () => {
  const schema = z.object({
    name: z.string(),
    limits: z.array(z.strictObject({ unit: z.enum(['rpm']) })).optional(),
  });
  const body = { name: 'a', is_admin: true };

  it('drops unknown fields on v1, also nested ones', () => {
    const read = createBodyReader({ ...put, body: schema }, 'v1');
    expect(read(json({ ...body, limits: [{ unit: 'rpm', extra: 1 }] }))).toEqual({
      name: 'a',
      limits: [{ unit: 'rpm' }],
    });
  });

  it.each(['v2', 'admin', 'root'] as const)('rejects an unknown field on %s', (mount) => {
    const error = errorOf(() => createBodyReader({ ...put, body: schema }, mount)(json(body)));
    expect(error.kind).toBe('invalid');
    expect(error.param).toBe('is_admin');
    expect(error.message).toBe('Request Validation Error: is_admin: is not a known field');
  });

  it('ignores the fields that a route ignores', () => {
    const route = { ...put, body: schema, ignoredFields: ['is_admin', 'name'] };
    expect(createBodyReader(route, 'v2')(json(body))).toEqual({ name: 'a' });
  });

  it('keeps additional fields of an open schema in every version', () => {
    const route = { ...put, body: z.looseObject({ name: z.string() }) };
    expect(createBodyReader(route, 'v2')(json(body))).toEqual(body);
    expect(createBodyReader(route, 'v1')(json(body))).toEqual(body);
  });

  it('reads an absent body as an empty object', () => {
    expect(createBodyReader({ ...put, body: z.object({}) }, 'v2')(undefined)).toEqual({});
    const error = errorOf(() => createBodyReader({ ...put, body: schema }, 'v2')(undefined));
    expect(error.param).toBe('name');
  });

  it('reports every fault with its path and never the value', () => {
    const read = createBodyReader({ ...put, body: schema }, 'v2');
    const error = errorOf(() => read(json({ name: 7, limits: [{ unit: 'sk-secret-1' }] })));
    expect(error.param).toBe('name');
    expect(error.message).toMatch(/^Request Validation Error: name: .*; limits\[0\]\.unit: /);
    expect(error.message).not.toContain('sk-secret-1');
  });

  it('yields a bounded message for thousands of faults', () => {
    const many = Array.from({ length: 2000 }, () => ({ unit: 'x'.repeat(1000) }));
    const read = createBodyReader({ ...put, body: schema }, 'v2');
    const error = errorOf(() => read(json({ name: 'a', limits: many })));
    expect(error.message.length).toBeLessThan(10_000);
    expect(error.message).toContain('and 1980 more');
  });

  it('rejects a form with a field that came twice', () => {
    const route = { ...post, body: z.object({ scope: z.string() }), bodyType: 'form' as const };
    const read = createBodyReader(route, 'root');
    expect(read(Buffer.from('scope=a&other=b'))).toEqual({ scope: 'a' });
    expect(errorOf(() => read(Buffer.from('scope=a&scope=b'))).param).toBe('scope');
  });
});

describe('a query', () => {
  const query = z.object({ page_size: z.string().optional(), workspace_id: z.string().optional() });
  const messageOf = (search: string, route: Parameters<typeof createQueryReader>[0]) =>
    errorOf(() => createQueryReader(route)(search)).message.replace(
      'Request Validation Error: ',
      '',
    );

  it('rejects unknown parameters, with the one that was probably meant', () => {
    expect(createQueryReader({ query })('page_size=1')).toEqual({ page_size: '1' });
    const unknown = 'is not a known query parameter;';
    expect(messageOf('pageSize=1&x=2', { query })).toBe(
      `pageSize: ${unknown} did you mean "page_size"?; x: ${unknown} known are page_size, workspace_id`,
    );
    expect(messageOf('__proto__=1', {})).toBe(`__proto__: ${unknown} this route has none`);
    expect(errorOf(() => createQueryReader({ query })('page_size=1&page_size=2')).param).toBe(
      'page_size',
    );
  });

  it('has no value for a route without parameters', () => {
    for (const search of ['', '&']) expect(createQueryReader({})(search)).toBeUndefined();
    expect(createQueryReader({ query })('')).toEqual({});
  });

  it('drops unknown parameters where a standard demands it', () => {
    const read = createQueryReader({ query, ignoresUnknownQuery: true });
    expect(read('page_size=1&sortBy=x')).toEqual({ page_size: '1' });
    expect(createQueryReader({ ignoresUnknownQuery: true })('x=1')).toBeUndefined();
  });
});
