/** Verifies what waits while an owner or a workspace is suspended. */
import { beforeEach, describe, expect, it } from 'vitest';
import { makePlan } from '../../../../src/sync/plan/plan.ts';
import { releaseAdvice } from '../../../../src/sync/plan/releases.ts';
import { type Suspension, suspendedIn } from '../../../../src/sync/plan/suspended.ts';
import { commandOf, ModelServer, owner, setOf, want } from '../../../support/sync/sync-model.ts';

let server: ModelServer;

beforeEach(() => {
  server = new ModelServer();
});

const workspaces = [want('Workspace', 'sales'), want('Workspace', 'support')];
const configOf = (workspace: string, weight: number, onRemoval: 'delete' | 'retain' = 'delete') =>
  want('Config', `${workspace}/c`, { config: { targets: [{ weight }] } }, { onRemoval });
const ofSales: Suspension = { workspace: 'sales', until: '2027-01-01T00:00:00Z', reason: 'audit' };
const ofOwner: Suspension = { workspace: null, until: null, reason: 'incident' };

function planOf(wanted: readonly ReturnType<typeof want>[], suspensions: readonly Suspension[]) {
  return makePlan(setOf(wanted), server.live(), {
    owner,
    takeOwnership: false,
    prune: true,
    now: 0,
    suspensions,
  });
}

describe('a suspension', () => {
  it('holds back the changes of its workspace, with the reason, and no others', () => {
    server.apply(planOf([...workspaces, configOf('sales', 1), configOf('support', 1)], []));
    const wanted = [...workspaces, configOf('sales', 2), configOf('support', 2)];
    const plan = planOf(wanted, [ofSales]);
    expect(plan.changes.map(({ id }) => id)).toEqual(['Config/support/c']);
    expect(plan.blocked).toMatchObject([
      {
        id: 'Config/sales/c',
        reason: 'suspended',
        message: 'workspace sales is suspended until 2027-01-01T00:00:00Z: audit',
      },
    ]);
    expect(planOf(wanted, []).blocked).toEqual([]);
  });

  it('holds back everything of an owner until it is resumed', () => {
    const plan = planOf(workspaces, [ofSales, ofOwner]);
    expect(plan.changes).toEqual([]);
    expect(plan.blocked.map(({ id, reason, message }) => [id, reason, message])).toEqual(
      ['sales', 'support'].map((name) => [
        `Workspace/${name}`,
        'suspended',
        'its owner is suspended until it is resumed: incident',
      ]),
    );
  });

  it('does not hold back what is kept on removal, because nothing is written', () => {
    server.apply(planOf([...workspaces, configOf('sales', 1, 'retain')], []));
    const plan = planOf(workspaces, [ofOwner]);
    expect(plan.changes.map(({ action, id }) => [action, id])).toEqual([
      ['retain', 'Config/sales/c'],
    ]);
    expect(plan.blocked).toEqual([]);
  });

  it('is reported with the command that writes anyway', () => {
    const plan = planOf(workspaces, [ofOwner]);
    const command = commandOf('gatewright apply ./gateway');
    expect(releaseAdvice(plan, null, command)).toEqual([
      '2 suspended; they continue automatically when it ends. To write them now: ' +
        'gatewright apply ./gateway --even-if-suspended',
    ]);
    expect(releaseAdvice(planOf(workspaces, []), null, command)).toEqual([]);
  });
});

describe('suspendedIn', () => {
  it('differs when other resources wait or the reason differs, and is null when none waits', () => {
    expect(suspendedIn(planOf(workspaces, []))).toBeNull();
    const one = suspendedIn(planOf(workspaces, [ofSales]));
    const all = suspendedIn(planOf(workspaces, [ofOwner]));
    const again = suspendedIn(planOf(workspaces, [{ ...ofOwner, reason: 'drill' }]));
    expect(new Set([one, all, again]).size).toBe(3);
    expect(suspendedIn(planOf(workspaces, [ofOwner]))).toBe(all);
  });
});
