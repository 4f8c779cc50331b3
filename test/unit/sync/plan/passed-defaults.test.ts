/** Verifies that the previous default of a workspace is adopted before the next one is written. */
import { describe, expect, it } from 'vitest';
import { passedDefaults } from '../../../../src/sync/plan/passed-defaults.ts';
import type { DraftChange } from '../../../../src/sync/plan/plan-model.ts';

interface Parts {
  readonly action?: DraftChange['action'];
  /** Whether it is the default now, and whether it is to be; null where it does not exist. */
  readonly live?: boolean | null;
  readonly desired?: boolean | null;
  readonly workspace?: string | null;
  readonly frees?: string | null;
}

const specOf = (isDefault: boolean | null | undefined) =>
  isDefault === null || isDefault === undefined ? null : { spec: { is_default: isDefault } };

const change = (name: string, parts: Parts): DraftChange =>
  ({
    id: `Config/${name}`,
    identity: { kind: 'Config', workspace: parts.workspace ?? null, name },
    action: parts.action ?? 'adopt',
    live: specOf(parts.live),
    desired: specOf(parts.desired),
    frees: parts.frees ?? null,
  }) as unknown as DraftChange;

const previous = change('previous', { live: true, desired: false });
const next = change('next', { action: 'create', desired: true });
const orderOf = (...changes: DraftChange[]) => [...passedDefaults(changes)];

describe('passedDefaults', () => {
  it('orders the next default after the adoption of the previous one', () => {
    expect(orderOf(next, previous)).toEqual([['Config/next', 'Config/previous']]);
  });

  it('orders nothing when the default does not pass', () => {
    const stays = change('previous', { live: true, desired: true });
    const never = change('previous', { live: false, desired: false });
    const written = change('previous', { action: 'update', live: true, desired: false });
    const isNoDefault = change('next', { action: 'create', desired: false });
    expect(orderOf(next, stays)).toEqual([]);
    expect(orderOf(next, never)).toEqual([]);
    expect(orderOf(next, written)).toEqual([]);
    expect(orderOf(isNoDefault, previous)).toEqual([]);
  });

  it('orders nothing across workspaces', () => {
    const elsewhere = change('next', { action: 'create', desired: true, workspace: 'sales' });
    expect(orderOf(elsewhere, previous)).toEqual([]);
  });

  it('does not delay a change that gives up a name, which may have to come first', () => {
    const freeing = change('next', { action: 'update', live: false, desired: true, frees: 'x' });
    expect(orderOf(freeing, previous)).toEqual([]);
  });

  it('passes over resources that left the source, and those that do not exist yet', () => {
    const leaving = change('leaving', { action: 'delete', live: true });
    const absent = change('absent', { live: true, desired: null });
    const created = change('created', { live: null, desired: false });
    expect(orderOf(leaving, absent, created, next, previous)).toEqual([
      ['Config/next', 'Config/previous'],
    ]);
  });
});
