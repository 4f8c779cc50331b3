/** Verifies which plans cannot be carried out in one transaction. */
import { describe, expect, it } from 'vitest';
import { findAtomicRefusal } from '../../../../src/sync/plan/atomic.ts';
import type { Plan, PlannedChange } from '../../../../src/sync/plan/plan-model.ts';

const change = (action: PlannedChange['action'], id = `Config/${action}`) =>
  ({ action, id }) as PlannedChange;

function refusalOf(parts: Partial<Plan>, changesMax: number | undefined = 3): string | null {
  const plan = { changes: [], blocked: [], faults: [], ...parts } as unknown as Plan;
  return findAtomicRefusal(plan, changesMax)?.message ?? null;
}

describe('findAtomicRefusal', () => {
  it('takes as many requests as the server takes at once, and no more', () => {
    const three = [change('create'), change('update'), change('delete')];
    expect(refusalOf({ changes: three })).toBeNull();
    expect(refusalOf({ changes: [...three, change('adopt')] })).toContain(
      'the server takes 3 at most, and the plan has 4',
    );
  });

  it('counts two requests for a replacement and none for what stays as it is', () => {
    expect(
      refusalOf({ changes: [change('replace'), change('retain'), change('create')] }),
    ).toBeNull();
    expect(refusalOf({ changes: [change('replace'), change('replace')] })).toContain('has 4');
  });

  it('refuses rotations, which take steps outside the server', () => {
    const message = refusalOf({ changes: [change('create'), change('rotate', 'ApiKey/bot')] });
    expect(message).toContain('outside the server: ApiKey/bot.');
  });

  it('refuses a plan of which a part is held back, and names five of it', () => {
    const blocked = [1, 2, 3, 4, 5].map((number) => ({ id: `Config/${number}` }));
    expect(refusalOf({ blocked: blocked.slice(0, 1) } as unknown as Partial<Plan>)).toContain(
      'part of it is held back: Config/1.',
    );
    const faults = [{}];
    expect(refusalOf({ blocked, faults } as unknown as Partial<Plan>)).toContain(
      'Config/4, Config/5 and 1 more.',
    );
  });

  it('refuses every plan where the server takes no change sets', () => {
    expect(refusalOf({}, 0)).toBeNull();
    const plan = { changes: [], blocked: [], faults: [] } as unknown as Plan;
    expect(findAtomicRefusal(plan, undefined)!.message).toContain('takes no change sets');
  });
});
