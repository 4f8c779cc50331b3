/** Guarantees when a prune is refused, and that the refusal says how to go on. */
import { describe, expect, it } from 'vitest';
import { findRefusal } from '../../src/sync/plan/guards.ts';
import { commandOf, ModelServer, setOf, want } from '../sync-model.ts';

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
    { owned: 30, deletes: 10, allowed: null, refused: false },
    { owned: 30, deletes: 11, allowed: null, refused: true },
    { owned: 100, deletes: 20, allowed: null, refused: false },
    { owned: 100, deletes: 21, allowed: null, refused: true },
    { owned: 100, deletes: 21, allowed: 20, refused: true },
    { owned: 100, deletes: 21, allowed: 21, refused: false },
    { owned: 3, deletes: 3, allowed: null, refused: true },
    { owned: 3, deletes: 3, allowed: 3, refused: false },
    { owned: 3, deletes: 0, allowed: 0, refused: false },
  ])(
    'of $deletes deletes among $owned with $allowed allowed: $refused',
    ({ owned, deletes, allowed, refused }) => {
      const refusal = findRefusal(planOf(owned, deletes), { allowDeletes: allowed, command });
      expect(refusal !== undefined).toBe(refused);
    },
  );

  it('says why and prints both ways out', () => {
    const message = findRefusal(planOf(3, 3), { allowDeletes: null, command })?.message;
    expect(message).toContain('the source declares no resource');
    expect(message).toContain(`${called} --allow-deletes 3`);
    expect(message).toContain(`${called} --no-prune`);
  });

  it('does not count tombstones', () => {
    const server = new ModelServer();
    const all = Array.from({ length: 30 }, (_, at) => want('Workspace', `w${at}`));
    server.apply(server.plan(setOf(all)));
    const gone = all.map((resource) => ({ ...resource, absent: true }));
    expect(findRefusal(server.plan(setOf(gone)), { allowDeletes: null, command })).toBeUndefined();
  });
});
