/**
 * Checks that a create accepts null for optional fields, and that null and absent differ everywhere
 * else.
 */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createBodyReader, createInnerBodyReader } from '../../../../src/http/input/input.ts';
import { ApiError } from '../../../../src/model/wire/errors.ts';
import { everyRoute } from '../../../support/interface/every-route.ts';

const body = z.object({
  name: z.string(),
  slug: z.string().optional(),
  page: z.int().default(7),
  note: z.string().nullable().optional(),
  tags: z.record(z.string(), z.string()).optional(),
  checks: z.array(z.strictObject({ id: z.string(), name: z.string().optional() })).optional(),
  limit: z
    .union([
      z.array(z.strictObject({ value: z.int(), unit: z.string().optional() })),
      z.strictObject({ value: z.int(), unit: z.string().optional() }),
    ])
    .optional(),
  command: z.never().optional(),
});

const mounts = ['v1', 'v2'] as const;

function reading(method: 'POST' | 'PUT', mount: 'v1' | 'v2', sent: object): unknown {
  const route = { method, body };
  const read = createBodyReader(route, mount)(Buffer.from(JSON.stringify(sent)));
  expect(createInnerBodyReader(route, mount)(sent)).toEqual(read);
  return read;
}

function faultOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    return (error as ApiError).param;
  }
  return 'none';
}

describe.each(mounts)('the body of a create on %s', (mount) => {
  it('accepts null for an optional field, at any depth and in any alternative', () => {
    const sent = {
      name: 'a',
      slug: null,
      page: null,
      note: null,
      tags: null,
      checks: [{ id: 'x', name: null }],
    };
    const read = { name: 'a', page: 7, note: null, checks: [{ id: 'x' }] };
    expect(reading('POST', mount, sent)).toEqual(read);
    for (const limit of [[{ value: 1, unit: null }], { value: 1, unit: null }]) {
      const reported = JSON.parse(JSON.stringify(limit).replace(',"unit":null', ''));
      expect(reading('POST', mount, { name: 'a', limit })).toEqual({
        name: 'a',
        page: 7,
        limit: reported,
      });
    }
  });

  it.each([
    ['a required field', { name: null }, 'name'],
    ['a required nested field', { name: 'a', checks: [{ id: null }] }, 'checks[0].id'],
    ['an item of a list', { name: 'a', checks: [null] }, 'checks[0]'],
    ['an entry of a free-form map, which is a value', { name: 'a', tags: { b: null } }, 'tags.b'],
    ['a field that is always rejected', { name: 'a', command: null }, 'command'],
    ['an optional field next to another fault', { name: 7, slug: null }, 'name'],
  ])('rejects null for %s', (_, sent, param) => {
    expect(faultOf(() => reading('POST', mount, sent))).toBe(param);
  });

  it('treats null as absent, unlike an update, where null clears or is rejected', () => {
    const sent = { name: 'a', note: null, slug: null };
    expect(faultOf(() => reading('PUT', mount, sent))).toBe('slug');
  });
});

it('accepts null for each optional field on every route that creates something', () => {
  const making = everyRoute().filter(
    ({ route }) => route.method === 'POST' && route.body instanceof z.ZodObject,
  );
  const refused = making.flatMap(({ route, mount, pattern }) => {
    const { shape } = route.body as z.ZodObject;
    const fields = Object.keys(shape).filter(
      (field) => field !== 'command' && shape[field]!.safeParse(undefined).success,
    );
    const read = createInnerBodyReader(route, mount);
    return fields
      .filter((field) => {
        const [without, withNull] = [{}, { [field]: null }].map((sent) =>
          faultOf(() => read(sent)),
        );
        return without !== withNull;
      })
      .map((field) => `${pattern} ${field}`);
  });
  expect(making.length).toBeGreaterThan(60);
  expect(refused).toEqual([]);
});
