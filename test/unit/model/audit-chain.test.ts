/** Checks that every manipulation of sealed audit rows is detected and located. */
import { describe, expect, it } from 'vitest';
import {
  type ChainEnds,
  ChainVerifier,
  emptyChain,
  proveEnds,
  type SealedRow,
  sealRows,
} from '../../../src/model/logs/audit-chain.ts';

const key = Buffer.alloc(32, 1);
const organisation_id = '019a0000-0000-7000-8000-000000000000';
const startedAt = Date.parse('2026-11-22T12:00:00Z');
const minuteMs = 60_000;

interface Log {
  readonly rows: SealedRow[];
  readonly chain: ChainEnds;
  readonly proof: Buffer;
}

const unsealed = (number: number) => ({
  organisation_id,
  at: startedAt + number * minuteMs,
  id: Buffer.alloc(16, number),
  workspace_id: null,
  actor_kind: 'service-account',
  actor_id: 'a',
  action: 'create',
  resource_kind: 'Config',
  resource_id: `c${number}`,
  request_id: `r${number}`,
  changes: '{"fields":["name"]}',
});

/** Rows that three runs sealed, equally many each. */
function logOf(count: number, of = unsealed): Log {
  let chain = emptyChain(organisation_id);
  const rows: SealedRow[] = [];
  for (let from = 1; from <= count; from += Math.ceil(count / 3)) {
    const batch = Array.from({ length: Math.ceil(count / 3) }, (_, at) => of(from + at));
    const sealed = sealRows(key, chain, batch);
    rows.push(...sealed.seals.map((seal, at) => ({ ...batch[at]!, ...seal })));
    chain = sealed.chain;
  }
  return { rows, chain, proof: proveEnds(key, chain) };
}

function faultsOf({ rows, chain, proof }: Log, by = key): string[] {
  const check = new ChainVerifier(by, chain);
  const places = Map.groupBy(rows, (row) => row.chain_position);
  const faults = [...places.values()].flatMap((alike) => [...check.verifyPosition(alike)]);
  return [...faults, ...check.verifyEnds(proof)].map(
    ({ fault, from, to, id }) => `${fault} ${from}-${to} ${id?.[0] ?? 'unknown'}`,
  );
}

const withRow = (log: Log, position: number, change: Partial<SealedRow>): Log => ({
  ...log,
  rows: log.rows.map((row) => (row.chain_position === position ? { ...row, ...change } : row)),
});

describe('a chain', () => {
  it('verifies as sealed, by any number of runs, also without rows', () => {
    expect(faultsOf(logOf(9))).toEqual([]);
    expect(faultsOf(logOf(0))).toEqual([]);
  });

  it('names each changed row, and no other', () => {
    const changes: Partial<SealedRow>[] = [
      { at: 1 },
      { workspace_id: 'w' },
      { actor_kind: 'job' },
      { actor_id: 'b' },
      { action: 'delete' },
      { resource_kind: 'ApiKey' },
      { resource_id: 'other' },
      { request_id: '' },
      { changes: '{}' },
      { chain_previous: null },
      { chain_hash: Buffer.alloc(32) },
      { organisation_id: 'other' },
    ];
    for (const change of changes) {
      const found = faultsOf(withRow(logOf(9), 4, change)).filter((one) => !/^backdated/.test(one));
      expect(found).toEqual(['changed 4-4 4']);
    }
    const both = withRow(withRow(logOf(9), 4, { changes: '{}' }), 7, { actor_id: 'b' });
    expect(faultsOf(both)).toEqual(['changed 4-4 4', 'changed 7-7 7']);
    const beside = [4, 5].reduce((log, at) => withRow(log, at, { chain_hash: key }), logOf(9));
    expect(faultsOf(beside)).toEqual(['changed 4-4 4', 'changed 5-5 5']);
  });

  it('names the positions of removed rows, first, last and between, and the id of the last', () => {
    const log = logOf(9);
    const without = (...gone: number[]): string[] => {
      const rows = log.rows.filter(({ chain_position }) => !gone.includes(chain_position));
      return faultsOf({ ...log, rows });
    };
    expect(without(1)).toEqual(['removed 1-1 1']);
    expect(without(4, 5)).toEqual(['removed 4-5 5']);
    expect(without(2, 8, 9)).toEqual(['removed 2-2 2', 'removed 8-9 9']);
    expect(without(1, 2, 3, 4, 5, 6, 7, 8, 9)).toEqual(['removed 1-9 9']);
  });

  it('names a row with the position of another, or one beyond the head', () => {
    const log = logOf(9);
    const forged = (position: number): SealedRow => ({
      ...log.rows[3]!,
      chain_position: position,
      id: Buffer.alloc(16, 99),
    });
    const sorted = (row: SealedRow) =>
      [...log.rows, row].toSorted((a, b) => a.chain_position - b.chain_position);
    for (const [position, rows] of [
      [4, sorted(forged(4))],
      [4, log.rows.toSpliced(3, 0, forged(4))],
      [10, sorted(forged(10))],
      [0, sorted(forged(0))],
    ] as const) {
      expect(faultsOf({ ...log, rows: [...rows] })).toEqual([
        `inserted ${position}-${position} 99`,
      ]);
    }
  });

  it('names a row that was sealed a day after its time, and none with a small delay', () => {
    const dayMs = 24 * 60 * minuteMs;
    const late = (number: number) => {
      const ageMs = { 5: dayMs + minuteMs * 10, 7: dayMs / 2 }[number] ?? 0;
      return { ...unsealed(number), at: unsealed(number).at - ageMs };
    };
    expect(faultsOf(logOf(9, late))).toEqual(['backdated 5-5 5']);
  });

  it('reports moved ends when all rows beyond the head are removed', () => {
    const log = logOf(9);
    const { chain_hash: head_hash, id: head_id } = log.rows[5]!;
    const chain = { ...log.chain, head_position: 6, head_hash, head_id };
    const cut = { rows: log.rows.slice(0, 6), chain, proof: log.proof };
    expect(faultsOf(cut)).toEqual(['moved 6-6 6']);
    const begun = { ...log.chain, base_position: 2, base_hash: log.rows[1]!.chain_hash };
    expect(faultsOf({ ...log, rows: log.rows.slice(2), chain: begun })).toEqual(['moved 9-9 9']);
    const aged = { ...log, rows: log.rows.slice(2), chain: begun, proof: proveEnds(key, begun) };
    expect(faultsOf(aged)).toEqual([]);
  });

  it('verifies only with its own key', () => {
    expect(faultsOf(logOf(3), Buffer.alloc(32, 2))).toHaveLength(4);
  });
});
