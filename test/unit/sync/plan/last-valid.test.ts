/**
 * Checks that the last valid state of a workspace is preserved while its source is wrong, and
 * nothing is removed.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readDesired, readSource } from '../../../../src/sync/desired/desired.ts';
import { fillFromLastValid } from '../../../../src/sync/loop/fill-from-last-valid.ts';
import { makePlan } from '../../../../src/sync/plan/plan.ts';
import type { Plan } from '../../../../src/sync/plan/plan-model.ts';
import type { DesiredSet, Spec } from '../../../../src/sync/resources/resource-set.ts';
import { manifest, sourceOf } from '../../../support/sync/manifests.ts';
import { ModelServer, owner } from '../../../support/sync/sync-model.ts';

type Texts = Readonly<Record<string, string>>;

const secrets = {
  environment: () => undefined,
  readValue: async () => undefined,
  requireSecrets: true,
};
const inSales = ', workspace: sales';
const config = (name: string, weight: number, metadata = inSales): string =>
  manifest('Config', name, `config: {targets: [{weight: ${weight}}]}`, metadata);
const wrong = manifest('Config', 'wrong', 'x: 1', inSales);

const estate: Texts = {
  'guard.yaml': manifest('Guardrail', 'short', 'checks: [{id: default.wordCount}]\nactions: {}'),
  'sales/ws.yaml': manifest('Workspace', 'sales', '{}'),
  'sales/a.yaml': config('a', 1),
  'sales/guarded.yaml': manifest(
    'Config',
    'guarded',
    'config: {input_guardrails: [{guardrailRef: short}], retry: {attempts: 1}}',
    inSales,
  ),
  'sales/key.yaml': manifest(
    'ApiKey',
    'k',
    'scopes: [logs.list]\ndefaults: {configRef: guarded}',
    inSales,
  ),
  'support/ws.yaml': manifest('Workspace', 'support', '{}'),
  'support/b.yaml': config('b', 1, ', workspace: support'),
};

async function soundOf(texts: Texts): Promise<DesiredSet> {
  const { set, waiting } = await readSource(sourceOf(texts), secrets);
  const faults = [...set.faults, ...(set.faults.length > 0 ? waiting : [])];
  return { ...set, faults };
}

/** A server to which all of `before` was applied, and its view of a resource. */
async function serverWith(before: Texts): Promise<{ server: ModelServer; before: DesiredSet }> {
  const server = new ModelServer();
  const { set } = await readDesired(sourceOf(before), secrets);
  server.apply(server.plan(set!));
  return { server, before: set! };
}

function planOf(set: DesiredSet, server: ModelServer): Plan {
  return makePlan(set, server.live(), { owner, takeOwnership: false, prune: true, now: 0 });
}

const reported = ({ changes, blocked }: Plan): string[] => [
  ...changes.map(({ action, id }) => `${action} ${id}`),
  ...blocked.map(({ reason, id }) => `${reason} ${id}`),
];

/** Changes a resource like a manual edit. */
function change(server: ModelServer, key: string, fields: Spec): void {
  Object.assign(server.find(key).spec, fields);
}

describe('a workspace whose source is wrong', () => {
  it('restores the last valid state of that workspace, and applies new changes to the others', async () => {
    const { server, before } = await serverWith(estate);
    const now = await soundOf({
      ...estate,
      'sales/a.yaml': config('a', 9),
      'sales/more.yaml': wrong,
      'support/b.yaml': config('b', 2, ', workspace: support'),
    });
    expect(reported(planOf(fillFromLastValid(now, before), server))).toEqual([
      'update Config/support/b',
    ]);
    change(server, 'Config/sales/a', { config: { targets: [{ weight: 5 }] } });
    const plan = planOf(fillFromLastValid(now, before), server);
    expect(reported(plan)).toEqual(['update Config/sales/a', 'update Config/support/b']);
    expect(plan.changes[0]!.fields).toMatchObject([{ reason: 'drift', from: 5, to: 1 }]);
    expect(new Set(plan.faults.flatMap(({ workspaces }) => workspaces))).toEqual(
      new Set(['sales']),
    );
    expect(reported(planOf(now, server))).toEqual(['update Config/support/b']);
  });

  it('recreates what others deleted in that workspace, and keeps what left the source there', async () => {
    const { server, before } = await serverWith(estate);
    const { 'sales/a.yaml': _, 'sales/key.yaml': __, ...rest } = estate;
    const now = await soundOf({ ...rest, 'sales/more.yaml': wrong });
    server.remove(server.find('Config/sales/a').id);
    expect(reported(planOf(fillFromLastValid(now, before), server))).toEqual([
      'create Config/sales/a',
    ]);
  });

  it('keeps a resource there that was last declared absent', async () => {
    const absent = `${config('gone', 1)}state: absent\n`;
    const { server } = await serverWith({ ...estate, 'sales/gone.yaml': config('gone', 1) });
    const { set: before } = await readDesired(
      sourceOf({ ...estate, 'sales/gone.yaml': absent }),
      secrets,
    );
    const now = await soundOf({ ...estate, 'sales/more.yaml': wrong });
    expect(reported(planOf(fillFromLastValid(now, before!), server))).toEqual([]);
  });

  it('applies to resources of a file that cannot be read now', async () => {
    const { server, before } = await serverWith(estate);
    change(server, 'Config/sales/a', { config: { targets: [{ weight: 5 }] } });
    const now = await soundOf({ ...estate, 'sales/a.yaml': 'a: [' });
    expect(reported(planOf(fillFromLastValid(now, before), server))).toEqual([
      'update Config/sales/a',
    ]);
  });

  it.each([
    [
      'renamed',
      manifest(
        'Guardrail',
        'brief',
        'checks: [{id: default.wordCount}]\nactions: {}',
        ', previousNames: [short]',
      ),
    ],
    ['removed', ''],
  ])(
    'leaves a resource that refers to something %s elsewhere unchanged, with all its dependants',
    async (_, guard) => {
      const { server, before } = await serverWith(estate);
      const { config } = server.find('Config/sales/guarded').spec as { config: Spec };
      change(server, 'Config/sales/guarded', { config: { ...config, by: 'hand' } });
      change(server, 'Config/sales/a', { config: { by: 'hand' } });
      change(server, 'ApiKey/sales/k', { scopes: [] });
      const now = await soundOf({ ...estate, 'guard.yaml': guard, 'sales/more.yaml': wrong });
      const plan = planOf(fillFromLastValid(now, before), server);
      expect(reported(plan).filter((line) => line.includes('sales'))).toEqual([
        'update Config/sales/a',
      ]);
      expect(reported(plan)).toContainEqual(
        expect.stringMatching(/^(update Guardrail\/brief|in-use Guardrail\/short)$/),
      );
    },
  );

  it('preserves nothing in a workspace that was never valid', async () => {
    const { server, before } = await serverWith(estate);
    const fresh = {
      'new/ws.yaml': manifest('Workspace', 'new', '{}'),
      'new/a.yaml': manifest('Config', 'a', 'x: 1', ', workspace: new'),
    };
    const set = fillFromLastValid(await soundOf({ ...estate, ...fresh }), before);
    expect(reported(planOf(set, server))).toEqual([]);
    expect(fillFromLastValid(before, before)).toBe(before);
    expect(fillFromLastValid(set, null)).toBe(set);
  });
});

it('removes nothing, dangles no reference and is stable, after any edit and any manual change', async () => {
  const files = Object.keys(estate);
  const edit = fc.record({
    file: fc.constantFrom(...files),
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    removed: fc.nat({ max: 30 }),
    added: fc.constantFrom('', 'x', ' ', '[', '"', '\n', '---\n', '${X}'),
  });
  const byHand = fc.record({ which: fc.nat(), isGone: fc.boolean() });
  const { before } = await serverWith(estate);
  let faulty = 0;
  await fc.assert(
    fc.asyncProperty(edit, fc.array(byHand, { maxLength: 4 }), async (change, hands) => {
      const text = estate[change.file]!;
      const at = Math.floor(change.at * text.length);
      const edited = text.slice(0, at) + change.added + text.slice(at + change.removed);
      const now = await soundOf({ ...estate, [change.file]: edited });
      if (now.faults!.length === 0) return;
      faulty += 1;
      const server = new ModelServer();
      server.apply(server.plan(before));
      for (const { which, isGone } of hands) {
        const found = server.resources[which % server.resources.length]!;
        const isLeaf = found.kind === 'ApiKey';
        if (isGone && isLeaf) server.resources.splice(server.resources.indexOf(found), 1);
        else Object.assign(found.spec, { description: 'by hand' });
      }
      const set = fillFromLastValid(now, before);
      const plan = planOf(set, server);
      expect(reported(plan).filter((line) => /^(delete|replace) /.test(line))).toEqual([]);
      server.apply(plan);
      expect(
        reported(planOf(fillFromLastValid(now, set), server)).filter(
          (line) => !line.startsWith('unread'),
        ),
      ).toEqual([]);
    }),
    { numRuns: 60 },
  );
  expect(faulty).toBeGreaterThan(5);
});
