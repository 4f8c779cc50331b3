/** Checks that a plan equals its shared part plus its part beyond a base, for any two versions. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { beyondBase } from '../../../../src/sync/review/beyond-base.ts';
import { ModelServer, setOf, want } from '../../../support/sync/sync-model.ts';

const names = ['a', 'b', 'c'];
/** For each config its weight and description, or its absence. */
const version = fc.record(
  Object.fromEntries(
    names.map((name) => [
      name,
      fc.option(fc.record({ weight: fc.nat({ max: 2 }), about: fc.constantFrom('x', 'y') })),
    ]),
  ),
);
type Version = Readonly<Record<string, { weight: number; about: string } | null>>;

function setFrom(chosen: Version) {
  const configs = Object.entries(chosen).flatMap(([name, fields]) =>
    fields === null
      ? []
      : [want('Config', `w/${name}`, { name: fields.about, config: { weight: fields.weight } })],
  );
  return setOf([want('Workspace', 'w'), ...configs]);
}

/** Each field of each change, and each change as such. */
function reported(changes: ReturnType<ModelServer['plan']>['changes']): string[] {
  return changes.flatMap(({ id, action, fields }) => [
    `${action} ${id}`,
    ...fields.map(({ path, to }) => `${action} ${id} ${path} ${JSON.stringify(to)}`),
  ]);
}

it('splits the plan into changes beyond the base and shared changes, without a common field', () => {
  fc.assert(
    fc.property(version, version, version, (applied, base, head) => {
      const server = new ModelServer();
      server.apply(server.plan(setFrom(applied)));
      const [of, against] = [server.plan(setFrom(head)), server.plan(setFrom(base))];
      const { plan, baseline } = beyondBase(of, against);
      const [beyond, shared, undone] = [plan.changes, baseline.already, baseline.undone].map(
        reported,
      );
      expect(new Set([...beyond!, ...shared!])).toEqual(new Set(reported(of.changes)));
      const fieldsOf = (all: readonly string[]) => all.filter((one) => one.split(' ').length > 2);
      expect(fieldsOf(shared!).filter((one) => beyond!.includes(one))).toEqual([]);
      expect(new Set([...undone!, ...shared!])).toEqual(new Set(reported(against.changes)));
      expect(beyondBase(of, null).plan.changes).toEqual(of.changes);
      const none = beyondBase(of, of);
      expect([none.plan.changes, none.baseline.undone]).toEqual([[], []]);
      expect(none.baseline.already).toEqual(of.changes);
    }),
    { numRuns: 200 },
  );
});
