/** Tests when a prune is refused, and that the refusal explains how to continue. */
import { describe, expect, it } from 'vitest';
import { findPruneRefusal } from '../../../../src/sync/plan/guards.ts';
import { makePlan } from '../../../../src/sync/plan/plan.ts';
import { releaseAdvice } from '../../../../src/sync/plan/releases.ts';
import { commandOf, ModelServer, owner, setOf, want } from '../../../support/sync/sync-model.ts';

const called = 'gatewright apply ./gateway';
const command = commandOf(called);

/** A plan that prunes `deletes` of `owned` workspaces. */
function planOf(owned: number, deletes: number) {
  const server = new ModelServer();
  const all = Array.from({ length: owned }, (_, at) => want('Workspace', `w${at}`));
  server.apply(server.plan(setOf(all)));
  return server.plan(setOf(all.slice(deletes)));
}

describe('findRefusal', () => {
  it.each([
    { owned: 2, deletes: 1, allowed: null, refused: false },
    { owned: 4, deletes: 1, allowed: null, refused: false },
    { owned: 4, deletes: 2, allowed: null, refused: true },
    { owned: 4, deletes: 3, allowed: null, refused: true },
    { owned: 4, deletes: 3, allowed: 3, refused: false },
    { owned: 30, deletes: 6, allowed: null, refused: false },
    { owned: 30, deletes: 7, allowed: null, refused: true },
    { owned: 100, deletes: 20, allowed: null, refused: false },
    { owned: 100, deletes: 21, allowed: null, refused: true },
    { owned: 100, deletes: 21, allowed: 20, refused: true },
    { owned: 100, deletes: 21, allowed: 21, refused: false },
    { owned: 3, deletes: 3, allowed: null, refused: true },
    { owned: 3, deletes: 3, allowed: 3, refused: false },
    { owned: 3, deletes: 0, allowed: 0, refused: false },
  ])(
    'refuses $deletes deletes among $owned with $allowed allowed: $refused',
    ({ owned, deletes, allowed, refused }) => {
      const refusal = findPruneRefusal(planOf(owned, deletes), { allowDeletes: allowed, command });
      expect(refusal !== undefined).toBe(refused);
    },
  );

  it('states the reason and prints both ways out', () => {
    const message = findPruneRefusal(planOf(3, 3), { allowDeletes: null, command })?.message;
    expect(message).toContain('the source declares no resource');
    expect(message).toContain(
      `${called} --allow-deletes 3 --delete Workspace/w0,Workspace/w1,Workspace/w2`,
    );
    expect(message).toContain(`${called} --no-prune`);
  });

  it('does not count tombstones', () => {
    const server = new ModelServer();
    const all = Array.from({ length: 30 }, (_, at) => want('Workspace', `w${at}`));
    server.apply(server.plan(setOf(all)));
    const gone = all.map((resource) => ({ ...resource, absent: true }));
    expect(
      findPruneRefusal(server.plan(setOf(gone)), { allowDeletes: null, command }),
    ).toBeUndefined();
  });
});

describe('a workspace that left the source', () => {
  const others = Array.from({ length: 20 }, (_, at) => want('Config', `c${at}`, { config: {} }));
  const inside = [
    want('Workspace', 'old'),
    want('Config', 'old/routing', { config: {} }),
    want('ApiKey', 'old/bot', { scopes: ['logs.list'] }),
  ];

  /** The plan of an apply that names these workspaces. */
  function planNaming(names: readonly string[], wanted = others, before = [...others, ...inside]) {
    const server = new ModelServer();
    server.apply(server.plan(setOf(before)));
    return makePlan(setOf(wanted), server.live(), {
      owner,
      takeOwnership: false,
      prune: true,
      now: 0,
      isReleased: (id) => names.includes(id),
    });
  }

  it('stays with its contents until it is named, and the rest is applied', () => {
    const plan = planNaming([], others.slice(1));
    expect(plan.changes.map(({ id }) => id)).toEqual(['Config/c0']);
    expect(plan.blocked.map(({ id, reason }) => [id, reason])).toEqual([
      ['ApiKey/old/bot', 'parent-stays'],
      ['Config/old/routing', 'parent-stays'],
      ['Workspace/old', 'guarded'],
    ]);
    const [reported] = releaseAdvice(plan, null, command);
    expect(reported).toContain(`${called} --allow-deletes 4 --delete Workspace/old`);
    expect(planNaming(['Workspace/old'], others.slice(1))).toMatchObject({
      blocked: [],
      changes: { length: 4 },
    });
  });

  it('keeps its contents and their references, whatever the reason of the block', () => {
    const shared = want('Config', 'shared', { config: {} });
    const key = want('ApiKey', 'old/bot', {
      scopes: ['logs.list'],
      defaults: { config_id: { $ref: 'Config/shared' } },
    });
    const stored = want('Workspace', 'old', {}, { protected: true });
    const plan = planNaming(['Workspace/old'], others, [...others, stored, key, shared]);
    expect(plan.changes).toEqual([]);
    expect(plan.blocked.map(({ id, reason }) => [id, reason])).toEqual([
      ['ApiKey/old/bot', 'parent-stays'],
      ['Config/shared', 'in-use'],
      ['Workspace/old', 'protected'],
    ]);
  });

  it('counts with its contents when the source declares nothing, although nothing would be deleted yet', () => {
    const plan = planNaming([], [], inside);
    expect(plan.changes).toEqual([]);
    const refusal = findPruneRefusal(plan, { allowDeletes: null, command });
    expect(refusal).toMatchObject({ deletes: 3 });
    expect(refusal!.message).toContain('--allow-deletes 3 --delete Workspace/old');
    expect(findPruneRefusal(plan, { allowDeletes: 2, command })).toBeDefined();
    expect(findPruneRefusal(plan, { allowDeletes: 3, command })).toBeUndefined();
  });

  it('is deleted by a tombstone without being named', () => {
    const tombstone = want('Workspace', 'old', {}, { absent: true });
    const plan = planNaming([], [...others, tombstone]);
    expect(plan).toMatchObject({ blocked: [], changes: { length: 3 } });
  });
});

describe('an API key in use that left the source', () => {
  const key = want('ApiKey', 'bot', { scopes: ['logs.list'] });
  const config = want('Config', 'routing', { config: {} });

  /** The plan of an apply after both have left the source, while the key is in use. */
  function planWithout(names: readonly string[]) {
    const server = new ModelServer();
    server.apply(server.plan(setOf([key, config])));
    const live = server.live();
    const used = live.resources.find(({ identity }) => identity.kind === 'ApiKey')!;
    return makePlan(setOf([]), live, {
      owner,
      takeOwnership: false,
      prune: true,
      now: 0,
      isReleased: (id) => names.includes(id),
      keysInUse: new Map([[used.id, null]]),
    });
  }

  it('stays until it is named, and the command names it and nothing else', () => {
    const plan = planWithout([]);
    expect(plan.blocked.map(({ id, reason }) => [id, reason])).toEqual([
      ['ApiKey/bot', 'used-key'],
    ]);
    expect(plan.changes.map(({ id }) => id)).toEqual(['Config/routing']);
    const refusal = findPruneRefusal(plan, { allowDeletes: null, command });
    expect(refusal).toMatchObject({ deletes: 2 });
    expect(refusal!.message).toContain('--allow-deletes 2 --delete ApiKey/bot\n');
    expect(planWithout(['ApiKey/bot'])).toMatchObject({ blocked: [], changes: { length: 2 } });
  });
});

describe('releaseAdvice', () => {
  it('offers to take ownership only of what that releases', () => {
    const plan = planOf(2, 1);
    const other = want('Workspace', 'other').identity;
    const blocked = { id: 'Workspace/other', identity: other, position: null, message: '' };
    const foreign = { ...plan, blocked: [{ ...blocked, reason: 'other-owner' as const }] };
    expect(releaseAdvice(foreign, foreign, command)).toEqual([]);
    expect(releaseAdvice(foreign, null, command)).toEqual([]);
    expect(releaseAdvice(foreign, plan, command)).toEqual([
      `1 blocked can be taken over: ${called} --take-ownership`,
    ]);
  });
});
