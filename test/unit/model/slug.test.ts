/** Tests slugs, timestamps and pages, which all resources share. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { pageQuery, toPage } from '../../../src/model/wire/paging.ts';
import { Slug } from '../../../src/model/wire/slug.ts';
import { isUuid, makeSlug } from '../../../src/model/wire/slug-forms.ts';
import { formatTimestamp, parseTimestamp, Timestamp } from '../../../src/model/wire/timestamp.ts';

describe('a generated slug', () => {
  const form = { prefix: 'pc', nameLengthMax: 6 };

  it.each([
    ['Cencora US', /^pc-cencor-[0-9a-f]{6}$/],
    ['sync guard', /^pc-sync-g-[0-9a-f]{6}$/],
    ['Shared stuff', /^pc-shared-[0-9a-f]{6}$/],
    ['ab cd efg', /^pc-ab-cd-[0-9a-f]{6}$/],
    ['abcde fg', /^pc-abcde-[0-9a-f]{6}$/],
    ['Über Äpfel', /^pc-uber-a-[0-9a-f]{6}$/],
    ['🚀', /^pc-[0-9a-f]{6}$/],
    ['--- x', /^pc-x-[0-9a-f]{6}$/],
  ])('derives from %j a prefix, the start of the name and six hex digits', (name, expected) => {
    expect(makeSlug(form, name)).toMatch(expected);
  });

  it('has no prefix when the form has none', () => {
    expect(makeSlug({ prefix: '', nameLengthMax: 6 }, 'Azure prod')).toMatch(/^azure-[0-9a-f]{6}$/);
  });

  it('is always a slug and never an id', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        const slug = makeSlug(form, name);
        expect(Slug.safeParse(slug).success).toBe(true);
        expect(isUuid(slug)).toBe(false);
      }),
    );
  });
});

describe('a chosen slug', () => {
  it.each(['', 'a b', 'a/b', 'ä', 'a\n', 'x'.repeat(256), '7e1c9bd2-0000-4000-8000-000000000000'])(
    'rejects %j',
    (text) => expect(Slug.safeParse(text).success).toBe(false),
  );
  it.each(['a', 'A_b-9', 'x'.repeat(255)])('accepts %j', (text) =>
    expect(Slug.parse(text)).toBe(text),
  );
});

describe('a timestamp', () => {
  it.each([
    ['2027-03-31T00:00:00Z', '2027-03-31T00:00:00.000Z'],
    ['2027-03-31T02:00:00+02:00', '2027-03-31T00:00:00.000Z'],
    ['2028-02-29T12:00:00.5Z', '2028-02-29T12:00:00.500Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
  ])('normalises %s to UTC with milliseconds', (text, expected) => {
    expect(Timestamp.parse(text)).toBe(expected);
  });

  it.each([
    '2026-02-30T00:00:00Z',
    '2027-02-29T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '1969-12-31T23:59:59Z',
    '9999-12-31T23:59:59-01:00',
    '2027-01-01T00:00:00',
    '2027-01-01T24:00:00Z',
    '2027-01-01',
    '1e3',
    '',
  ])('rejects %s', (text) => expect(Timestamp.safeParse(text).success).toBe(false));

  it('survives the conversion to milliseconds', () => {
    const moments = fc.integer({ min: 0, max: 253_402_300_799_999 });
    fc.assert(
      fc.property(moments, (ms) => {
        expect(parseTimestamp(Timestamp.parse(formatTimestamp(ms)))).toBe(ms);
      }),
    );
  });
});

describe('a page', () => {
  const Query = z.object(pageQuery({ sizeDefault: 20, sizeMax: 100 }));

  it('counts from zero and has a default size', () => {
    expect(toPage(Query.parse({}))).toEqual({ limit: 20, offset: 0 });
    expect(toPage(Query.parse({ page_size: '7', current_page: '3' }))).toEqual({
      limit: 7,
      offset: 21,
    });
  });

  it.each(['0', '101', '-1', '1e1', ' 5', '5.0', '1;drop', '', ['5', '6']])(
    'rejects the size %j',
    (size) => expect(Query.safeParse({ page_size: size }).success).toBe(false),
  );
});
