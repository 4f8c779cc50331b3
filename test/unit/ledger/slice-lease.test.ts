/** Verifies until when a slice may be used. */
import { describe, expect, it } from 'vitest';
import { leaseMarginMs, SliceLease } from '../../../src/ledger/slice-lease.ts';

const leaseMs = 60_000;
const usableMs = leaseMs - leaseMarginMs;

/** A lease of its own that began at 0. */
function ownLease(holderEndsMs = 0): SliceLease {
  const lease = new SliceLease({ endsMs: holderEndsMs });
  lease.begin(leaseMs, 0);
  lease.end(leaseMs, 0);
  return lease;
}

describe('SliceLease', () => {
  it('ends a margin before the bank ends it', () => {
    expect(ownLease().isOverAt(usableMs - 1)).toBe(false);
    expect(ownLease().isOverAt(usableMs)).toBe(true);
  });

  it('holds as long as the lease of the process', () => {
    const lease = ownLease(usableMs + 10);
    expect(lease.isOverAt(usableMs + 9)).toBe(false);
    expect(lease.isOverAt(usableMs + 10)).toBe(true);
  });

  it('is due when less than half of it remains', () => {
    expect(ownLease().isDueAt(usableMs - leaseMs / 2)).toBe(false);
    expect(ownLease().isDueAt(usableMs - leaseMs / 2 + 1)).toBe(true);
  });

  it('is never due without a lease of its own', () => {
    const lease = new SliceLease({ endsMs: 0 });
    lease.begin(null, 0);
    lease.end(null, 0);
    expect(lease.isDueAt(1_000_000)).toBe(false);
    expect(lease.isOverAt(0)).toBe(true);
  });

  it('is shortened as soon as a move begins, because the bank may do so without an answer', () => {
    const lease = ownLease();
    lease.begin(null, 1_000);
    expect(lease.isOverAt(1_000)).toBe(true);
    lease.undo();
    expect(lease.isOverAt(usableMs - 1)).toBe(false);
  });

  it('is extended only when a move has ended', () => {
    const lease = ownLease();
    lease.begin(leaseMs, 30_000);
    expect(lease.isOverAt(usableMs)).toBe(true);
    lease.end(leaseMs, 30_000);
    expect(lease.isOverAt(usableMs)).toBe(false);
    lease.lose();
    expect(lease.isOverAt(30_000)).toBe(true);
    expect(lease.isDueAt(30_000)).toBe(false);
  });
});
