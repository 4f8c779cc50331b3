/**
 * Tests names that are freed and reused in one source: one resource per name, without a collision
 * at any step.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DesiredResource } from '../../../../src/sync/resources/resource-set.ts';
import { ModelServer, setOf, want } from '../../../support/sync/sync-model.ts';

/** `bot-legacy: bot` is a manifest of the first name whose previous name is the second. */
function manifests(...names: (string | readonly [name: string, ...previous: string[]])[]) {
  return setOf(
    names.map((one) => {
      const [name, ...previousNames] = typeof one === 'string' ? [one] : one;
      return want('ApiKey', name!, { description: name! }, { previousNames });
    }),
  );
}

function serverWith(...names: string[]): { server: ModelServer; ids: Record<string, string> } {
  const server = new ModelServer();
  server.apply(server.plan(manifests(...names)));
  return { server, ids: idsOf(server) };
}

function idsOf(server: ModelServer): Record<string, string> {
  return Object.fromEntries(
    server.resources.map(({ id, managed_by: managed }) => [managed!.name, id]),
  );
}

/** Applies the changes, and checks after each step that no two resources share a name. */
function apply(server: ModelServer, set: ReturnType<typeof manifests>): string[] {
  const plan = server.plan(set);
  server.apply(plan, () => {
    const names = server.resources.map(({ managed_by: managed }) => managed!.name);
    expect(new Set(names).size).toBe(names.length);
  });
  return plan.changes.map(({ action, id }) => `${action} ${id.slice('ApiKey/'.length)}`);
}

describe('a name', () => {
  it('goes to the new resource, and the old resource follows its previousNames', () => {
    const { server, ids } = serverWith('bot');
    const wanted = manifests(['bot-legacy', 'bot'], 'bot');
    expect(apply(server, wanted)).toEqual(['update bot-legacy', 'create bot']);
    expect(idsOf(server)['bot-legacy']).toBe(ids.bot);
    expect(idsOf(server).bot).not.toBe(ids.bot);
    expect(apply(server, wanted)).toEqual([]);
  });

  it('moves along a chain from its end', () => {
    const { server, ids } = serverWith('a', 'b', 'c');
    const wanted = manifests(['d', 'c'], ['c', 'b'], ['b', 'a'], 'a');
    expect(apply(server, wanted)).toEqual(['update d', 'update c', 'update b', 'create a']);
    expect(idsOf(server)).toMatchObject({ d: ids.c, c: ids.b, b: ids.a });
    expect(apply(server, wanted)).toEqual([]);
  });

  it('stays after the rename, also when the renamed resource has been deleted', () => {
    const { server } = serverWith('bot');
    const wanted = manifests(['bot-legacy', 'bot'], 'bot');
    apply(server, wanted);
    const { bot, 'bot-legacy': legacy } = idsOf(server);
    server.remove(legacy!);
    expect(apply(server, wanted)).toEqual(['create bot-legacy']);
    expect(idsOf(server).bot).toBe(bot);
  });

  it('is not freed by a tombstone while another manifest declares it', () => {
    const { server, ids } = serverWith('bot');
    const gone: DesiredResource = want(
      'ApiKey',
      'old',
      {},
      { previousNames: ['bot'], absent: true },
    );
    const wanted = manifests('bot');
    expect(apply(server, setOf([...wanted.resources, gone]))).toEqual([]);
    expect(idsOf(server)).toEqual(ids);
  });

  it('frees the name of a tombstone for its new holder', () => {
    const { server, ids } = serverWith('bot');
    const gone = want('ApiKey', 'bot', {}, { absent: true });
    const renamed = manifests(['agent', 'bot']);
    expect(apply(server, setOf([...renamed.resources, gone]))).toEqual(['update agent']);
    expect(idsOf(server)).toEqual({ agent: ids.bot });
  });

  it('belongs to one manifest in any combination, and the result is stable', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const manifest = fc.tuple(name, fc.uniqueArray(name, { maxLength: 2 }));
    const sources = fc.uniqueArray(manifest, { maxLength: 5, selector: ([own]) => own });
    fc.assert(
      fc.property(fc.uniqueArray(name), sources, (before, source) => {
        const { server, ids } = serverWith(...before);
        const wanted = manifests(
          ...source.map(
            ([own, previous]) => [own, ...previous.filter((one) => one !== own)] as const,
          ),
        );
        apply(server, wanted);
        const after = idsOf(server);
        expect(Object.keys(after).toSorted()).toEqual(source.map(([own]) => own).toSorted());
        // A resource keeps its own name, or gets that of a manifest that claims it.
        for (const [old, id] of Object.entries(ids)) {
          const now = Object.entries(after).find(([, other]) => other === id)?.[0];
          const heir = source.find(([own]) => own === now);
          if (now !== undefined && now !== old) expect(heir?.[1]).toContain(old);
        }
        expect(apply(server, wanted)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
