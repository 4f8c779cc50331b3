/** Tests the definition of API records. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  computed,
  constant,
  document,
  flag,
  nullableTimestamp,
  numericFlag,
  record,
  timestamp,
} from '../../../src/admin/request/record.ts';

interface Row {
  readonly id: string;
  readonly note: string | null;
  readonly enabled: number;
  readonly is_default: number;
  readonly tags: string | null;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly secret: string;
}

const definition = record<Row>()({
  id: z.string(),
  note: z.string().nullable(),
  enabled: flag,
  is_default: numericFlag,
  tags: document(z.record(z.string(), z.string())),
  created_at: timestamp,
  expires_at: nullableTimestamp,
  has_note: computed(z.boolean(), (row: Row) => row.note !== null),
  object: constant('thing'),
});

const row: Row = {
  id: 'a',
  note: null,
  enabled: 1,
  is_default: 0,
  tags: '{"region":"eu"}',
  created_at: 0,
  expires_at: null,
  secret: 'hidden',
};

describe('record', () => {
  it('maps columns, computed fields and constants, and nothing else', () => {
    const result = definition.toRecord(row);
    expect(result).toEqual({
      id: 'a',
      note: null,
      enabled: true,
      is_default: 0,
      tags: { region: 'eu' },
      created_at: '1970-01-01T00:00:00.000Z',
      expires_at: null,
      has_note: false,
      object: 'thing',
    });
    expect(definition.schema.parse(result)).toEqual(result);
  });

  it('lists the columns that the fields read', () => {
    expect(definition.columns).toEqual([
      'id',
      'note',
      'enabled',
      'is_default',
      'tags',
      'created_at',
      'expires_at',
    ]);
  });

  it('makes a body of columns without nulls', () => {
    expect(definition.toSpec('id', 'note')(row)).toEqual({ id: 'a' });
  });

  it('rejects at compile time a field that its column does not fit', () => {
    // @ts-expect-error the column is a text
    record<Row>()({ id: z.number() });
    // @ts-expect-error the column may be null
    record<Row>()({ note: z.string() });
    // @ts-expect-error there is no such column
    record<Row>()({ missing: z.string() });
    // @ts-expect-error the column is a text
    record<Row>()({ id: timestamp });
    expect(definition.shape.id).toBeInstanceOf(z.ZodString);
  });
});
