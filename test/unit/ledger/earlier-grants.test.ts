/** Verifies that grants of earlier processes in outages count once, until their window ends. */
import { describe, expect, it } from 'vitest';
import { EarlierGrants } from '../../../src/ledger/journal/earlier-grants.ts';
import {
  drawnOf,
  type HolderState,
  keyOf,
  restoredUse,
  type StoredUse,
  storedUse,
} from '../../../src/ledger/journal/stored-use.ts';
import type { JournalledUse } from '../../../src/store/usage/journalled-use.ts';

const nowMs = 1_000;
const journalled = {
  counter: {
    isRate: false,
    subjectKind: 'api_key',
    subjectId: Buffer.from('0a0b', 'hex'),
    windowStart: 0,
    id: Buffer.from('ff01', 'hex'),
    valueKey: '',
    endsAt: null,
  },
  sequence: 3,
  before: 4,
  after: 5,
  running: 2,
  drawn: 40,
  totalMax: 90,
} as JournalledUse;

function useOf(drawn: number, endsAt: number | null = null): StoredUse {
  const stored = storedUse(journalled, 7);
  return { ...stored, drawn, counter: { ...stored.counter, endsAt } };
}

function stateOf(use: StoredUse | null): HolderState {
  return { organisationId: 'o', uses: new Map(use === null ? [] : [[keyOf(use), use]]) };
}

const place = keyOf(storedUse(journalled, 7));

it('restores a use as it was stored, without its revision', () => {
  const stored = JSON.parse(JSON.stringify(storedUse(journalled, 7))) as StoredUse;
  expect(stored.revision).toBe(7);
  expect(restoredUse(stored)).toEqual(journalled);
});

it('adds up the grants of all processes that used a counter', () => {
  expect(drawnOf([stateOf(useOf(40)), stateOf(null), stateOf(useOf(2))], place)).toBe(42);
});

describe('EarlierGrants', () => {
  it('keeps grants until their window ends', () => {
    const grants = new EarlierGrants(() => nowMs);
    grants.keep('a', stateOf(useOf(40, nowMs + 1)));
    grants.keep('b', stateOf(useOf(2)));
    expect(grants.units(place)).toBe(42);
    grants.keep('c', stateOf(useOf(7, nowMs)));
    expect(grants.units(place)).toBe(42);
    expect([...grants.holders]).toEqual(['a', 'b']);
  });

  it('drops a holder without grants', () => {
    const grants = new EarlierGrants(() => nowMs);
    grants.keep('a', stateOf(useOf(40)));
    expect(grants.isEmpty).toBe(false);
    grants.keep('a', stateOf(useOf(0)));
    expect(grants.isEmpty).toBe(true);
  });

  it('keeps of a use only its grant, because the bank has charged the rest', () => {
    const grants = new EarlierGrants(() => nowMs);
    grants.keep('a', stateOf(useOf(40)));
    const [, { uses }] = grants.list()[0]!;
    expect(uses.get(place)).toMatchObject({ before: 0, after: 0, running: 0, totalMax: null });
    expect(uses.get(place)!.drawn).toBe(40);
  });

  it('counts grants only as far as the counter is beyond its limit, in all', () => {
    const grants = new EarlierGrants(() => nowMs);
    grants.keep('a', stateOf(useOf(40)));
    grants.keep('b', stateOf(useOf(40)));
    grants.noteBeyond(place, 50);
    expect(grants.units(place)).toBe(50);
    grants.noteBeyond(place, -1);
    expect(grants.units(place)).toBe(0);
    expect(grants.list()).toEqual([]);
  });
});
