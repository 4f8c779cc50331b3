/**
 * Tests the order of changes: by references alone, removals last, cycles reported with their
 * positions.
 */
import { describe, expect, it } from 'vitest';
import { type Orderable, orderChanges } from '../../../../src/sync/plan/order.ts';

function change(
  id: string,
  action: Orderable['action'],
  {
    needs = [],
    holds = [],
    frees = null,
  }: { needs?: string[]; holds?: string[]; frees?: string | null } = {},
): Orderable {
  const position = { file: `${id}.yaml`, line: 7, column: 1 };
  return { id, action, needs, holds, frees, position };
}

function order(...changes: Orderable[]): string[] {
  return orderChanges(changes).map(({ change: { id } }) => id);
}

describe('orderChanges', () => {
  it('places a resource before its dependants, and breaks ties by id', () => {
    expect(
      order(
        change('d', 'create', { needs: ['b', 'c'] }),
        change('c', 'update', { needs: ['a'] }),
        change('b', 'create', { needs: ['a'] }),
        change('a', 'create'),
      ),
    ).toEqual(['a', 'b', 'c', 'd']);
  });

  it('deletes last and in reverse order', () => {
    expect(
      order(change('a', 'delete'), change('b', 'delete', { holds: ['a'] }), change('z', 'create')),
    ).toEqual(['z', 'b', 'a']);
  });

  it('removes a reference before its target is deleted', () => {
    const [first, second] = orderChanges([
      change('a', 'delete'),
      change('k', 'update', { holds: ['a'] }),
    ]);
    expect(first).toMatchObject({ change: { id: 'k' }, last: false });
    expect(second).toMatchObject({ change: { id: 'a' }, dependsOn: ['k'], last: true });
  });

  it('deletes early when a replacement waits for it', () => {
    const ordered = orderChanges([
      change('r', 'replace'),
      change('x', 'delete', { holds: ['r'] }),
      change('y', 'create', { needs: ['r'] }),
    ]);
    expect(ordered.map(({ change: { id }, last }) => [id, last])).toEqual([
      ['x', false],
      ['r', false],
      ['y', false],
    ]);
  });

  it('names the documents of a cycle with their positions, and nothing else', () => {
    const circle = (): unknown =>
      orderChanges([
        change('a', 'create', { needs: ['b'] }),
        change('b', 'create', { needs: ['c'] }),
        change('c', 'create', { needs: ['b'] }),
        change('ok', 'create'),
      ]);
    expect(circle).toThrow(expect.objectContaining({ kind: 'invalidInput' }));
    expect(circle).toThrow(/circle[\s\S]*b \(b\.yaml:7:1\)\n {2}c \(c\.yaml:7:1\)\nRemove/);
    expect(circle).not.toThrow(/ok/);
  });
});
