/**
 * Tests the counting of refused credentials: bounded memory, one row a minute, nothing counted
 * twice, and nothing lost while the database is away.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MinuteCounts } from '../../../src/auth/minute-counts.ts';
import { RefusedCredentials, toRefusedCredential } from '../../../src/auth/refused-credentials.ts';
import type { CountedRow } from '../../../src/store/records/gateway-records.ts';

const key = { credential: 'api_key', reason: 'unknown' } as const;
const minuteMs = 60_000;

let rows: CountedRow[];
let fault: Error | null;
let tried: string[];

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-11-22T12:00:00Z') });
  [rows, fault, tried] = [[], null, []];
});
afterEach(() => {
  vi.useRealTimers();
});

function counting(more: { findOrganisation?: () => Promise<string> } = {}) {
  const counts = new MinuteCounts({
    fields: { count: 'failures', each: 'sources' },
    eachMax: 100,
    onFailure: () => undefined,
    findOrganisation: async (tsgId) => (tsgId === '1000000000' ? 'ours' : undefined),
    now: () => Date.now(),
    write: async (row) => {
      tried.push(row.id);
      if (fault !== null) throw fault;
      rows.push(row);
    },
    ...more,
  });
  const refused = new RefusedCredentials({ counts, observe: () => undefined });
  return {
    record: refused.record.bind(refused),
    flush: () => counts.flush(),
    close: (withinMs: number) => counts.close(withinMs),
  };
}

const from = (remoteAddress: string) => ({ server: 'inference', remoteAddress }) as const;
const reported = ({ organisationId, changes }: CountedRow) => [organisationId, changes.failures];

describe('refused credentials', () => {
  it('writes one row per organisation and minute, and nothing where nothing was refused', async () => {
    const counted = counting();
    await vi.advanceTimersByTimeAsync(10 * minuteMs);
    expect(rows).toEqual([]);
    for (let time = 0; time < 5; time += 1) {
      counted.record(toRefusedCredential(key), from('::ffff:10.0.0.1'));
      counted.record(
        toRefusedCredential({ ...key, organisationId: 'a', subjectId: 'k' }),
        from('10.0.0.1'),
      );
    }
    counted.record(toRefusedCredential({ ...key, reason: 'expired' }), from('10.0.0.2'));
    await vi.advanceTimersByTimeAsync(minuteMs);
    expect(rows.map(reported)).toEqual([
      ['', 6],
      ['a', 5],
    ]);
    const source = { server: 'inference', ...key, source: '10.0.0.1', failures: 5 };
    expect(rows[0]!.changes).toEqual({
      since: '2026-11-22T12:10:00.000Z',
      until: '2026-11-22T12:11:00.000Z',
      failures: 6,
      elsewhere: 0,
      sources: [source, { ...source, reason: 'expired', source: '10.0.0.2', failures: 1 }],
    });
    expect(rows[1]!.changes.sources).toEqual([{ ...source, subject_id: 'k' }]);
    await vi.advanceTimersByTimeAsync(10 * minuteMs);
    expect(rows).toHaveLength(2);
  });

  it('lists a hundred of a million sources by name and the rest as one count', async () => {
    const counted = counting();
    for (let at = 0; at < 1_000_000; at += 1)
      counted.record(toRefusedCredential(key), from(`10.0.${at}`));
    await counted.flush();
    const [{ changes } = rows[0]!] = rows;
    expect(rows).toHaveLength(1);
    expect(changes.sources).toHaveLength(100);
    expect([changes.failures, changes.elsewhere]).toEqual([1_000_000, 999_900]);
    expect(JSON.stringify(changes).length).toBeLessThan(32 * 1024);
  });

  it('counts refusals of organisations beyond the bound without an organisation', async () => {
    const counted = counting();
    for (let at = 0; at < 5_000; at += 1) {
      counted.record(toRefusedCredential({ ...key, organisationId: `o${at}` }), from('10.0.0.1'));
    }
    await counted.flush();
    expect(rows).toHaveLength(1_001);
    expect(rows.map(reported)).toContainEqual(['', 4_000]);
  });

  it('belongs to the organisation of the tenant, with the identity that is verified', async () => {
    const counted = counting();
    counted.record(toRefusedCredential({ ...key, tsgId: '1000000000' }), from('10.0.0.1'));
    counted.record(toRefusedCredential({ ...key, organisationId: 'ours' }), from('10.0.0.1'));
    counted.record(toRefusedCredential({ ...key, tsgId: '9999999999' }), from('10.0.0.1'));
    await counted.flush();
    expect(rows.map(reported).toSorted()).toEqual([
      ['', 1],
      ['ours', 2],
    ]);
    expect(rows.find(({ organisationId }) => organisationId === 'ours')!.changes.sources).toEqual([
      expect.objectContaining({ failures: 2 }),
    ]);
  });

  it('buffers in bounded memory while the database is away, and then writes once', async () => {
    const counted = counting();
    counted.record(toRefusedCredential(key), from('10.0.0.1'));
    fault = new Error('away');
    await vi.advanceTimersByTimeAsync(minuteMs);
    for (let time = 0; time < 100; time += 1)
      counted.record(toRefusedCredential(key), from('10.0.0.1'));
    await vi.advanceTimersByTimeAsync(3 * minuteMs);
    // A row that was written without a confirmation is identical when it is written again.
    expect(new Set(tried).size).toBe(1);
    expect(rows).toEqual([]);
    fault = null;
    await vi.advanceTimersByTimeAsync(2 * minuteMs);
    expect(rows.map(reported)).toEqual([
      ['', 1],
      ['', 100],
    ]);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(2);
  });

  it('counts refusals that arrive during a write in the next row', async () => {
    const looked = Promise.withResolvers<string>();
    const counted = counting({ findOrganisation: () => looked.promise });
    counted.record(toRefusedCredential({ ...key, tsgId: '1000000000' }), from('10.0.0.1'));
    const first = counted.flush();
    counted.record(toRefusedCredential({ ...key, tsgId: '2000000000' }), from('10.0.0.1'));
    counted.record(toRefusedCredential({ ...key, tsgId: '1000000000' }), from('10.0.0.1'));
    looked.resolve('ours');
    await first;
    expect(rows.map(reported)).toEqual([['ours', 2]]);
    await vi.advanceTimersByTimeAsync(minuteMs);
    expect(rows.map(reported)).toEqual([
      ['ours', 2],
      ['ours', 1],
    ]);
  });

  it('writes at shutdown, without waiting for a database that hangs', async () => {
    const counted = counting();
    counted.record(toRefusedCredential(key), from('10.0.0.1'));
    await counted.close(1_000);
    expect(rows.map(reported)).toEqual([['', 1]]);
    const hangs = counting({ findOrganisation: () => new Promise(() => undefined) });
    hangs.record(toRefusedCredential({ ...key, tsgId: '1' }), from('10.0.0.1'));
    const closed = hangs.close(1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    await closed;
    expect(vi.getTimerCount()).toBe(0);
  });
});
