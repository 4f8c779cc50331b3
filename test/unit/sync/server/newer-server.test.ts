/** Checks that data of a newer server neither stops nor is changed by an older client. */
import { expect, it } from 'vitest';
import { Snapshot } from '../../../../src/model/kinds/snapshot.ts';
import { makePlan } from '../../../../src/sync/plan/plan.ts';
import { textReport } from '../../../../src/sync/report/text.ts';
import { toLiveSet } from '../../../../src/sync/server/live.ts';
import { withoutUnknown } from '../../../../src/sync/server/newer-server.ts';
import { setOf } from '../../../support/sync/sync-model.ts';

const id = (last: number): string => `0198aaaa-0000-7000-8000-00000000000${last}`;
const source = { repo: '/src', revision: null };

function resource(kind: string, at: number, spec: object, managed: object | null) {
  return {
    kind,
    id: id(at),
    slug: `s${at}`,
    name: `n${at}`,
    workspace_id: null,
    version: 1,
    spec,
    managed_by:
      managed === null ? null : { owner: 'platform', workspace: null, source, ...managed },
    new_member: { of: 'a newer server' },
  };
}

const answer = {
  object: 'snapshot',
  organisation_id: id(9),
  fingerprint_key: null,
  api_key_prefix: '',
  new_part: [1],
  resources: [
    resource(
      'Workspace',
      1,
      { name: 'w', colour: 'red' },
      { name: 'w', last_applied: { name: 'w', colour: 'red' } },
    ),
    resource('RoutePolicy', 2, { x: 1 }, { name: 'eu', workspace: 'w', last_applied: { x: 1 } }),
    resource('RoutePolicy', 3, { x: 1 }, null),
  ],
};

it('is left out, named and not touched, whoever declared it', async () => {
  const { body, unknown } = await withoutUnknown(answer);
  expect(unknown).toEqual(['Workspace/w: colour', 'RoutePolicy/w/eu', 'RoutePolicy/n3']);
  const snapshot = Snapshot.parse(body);
  const live = toLiveSet({ snapshot, etag: '"1"', unknown }, 'platform', []);
  const options = { owner: 'platform', takeOwnership: true, prune: true, now: 0 };
  const empty = makePlan(setOf([]), live, options);
  expect(empty.changes.map(({ action, id }) => [action, id])).toEqual([['delete', 'Workspace/w']]);
  expect(empty.unknown).toEqual(unknown);
  const result = { plan: empty, report: null, declined: false, refusal: null, warnings: [] };
  expect(textReport(result)).toContain(
    'of a newer server, left alone: Workspace/w: colour, RoutePolicy/w/eu, RoutePolicy/n3 (a newer gatewright knows them)',
  );
});

it('clears no field that a newer client has recorded', async () => {
  const { body, unknown } = await withoutUnknown(answer);
  const live = toLiveSet({ snapshot: Snapshot.parse(body), etag: '"1"', unknown }, 'platform', []);
  const [workspace] = live.resources;
  expect([workspace?.spec, workspace?.base]).toEqual([{ name: 'w' }, { name: 'w' }]);
});

it.each([null, 'text', { resources: 1 }, { resources: [1, { kind: 2 }] }])(
  'rejects a response of an unknown form: %j',
  async (body) => {
    const known = await withoutUnknown(body);
    expect([known.unknown, Snapshot.safeParse(known.body).success]).toEqual([[], false]);
  },
);

it('is left out below the top of a spec as well, but not in a free-form document', async () => {
  const limit = { type: 'requests', unit: 'rpm', value: 5 };
  const key = {
    name: 'k',
    rate_limits: [limit, { ...limit, burst: 3 }],
    defaults: { region: 'eu' },
  };
  const conditions = [{ key: 'model', value: '*', negate: false }];
  const config = { config: { targets: [{ provider: 'a', anything: 1 }], brand_new: {} } };
  const resources = [
    resource('ApiKey', 4, key, { name: 'k', last_applied: key }),
    resource('UsageLimitPolicy', 5, { conditions }, null),
    resource('Config', 6, config, null),
  ];
  const { body, unknown } = await withoutUnknown({ ...answer, resources });
  const { resources: left } = Snapshot.parse(body);
  const known = { name: 'k', rate_limits: [limit, limit], defaults: {} };
  expect([left[0]?.spec, left[0]?.managed_by?.last_applied]).toEqual([known, known]);
  expect(left[1]?.spec).toEqual({ conditions: [{ key: 'model', value: '*' }] });
  expect(left[2]?.spec).toEqual(config);
  expect(unknown).toEqual([
    'ApiKey/k: rate_limits[1].burst',
    'ApiKey/k: defaults.region',
    'UsageLimitPolicy/n5: conditions[0].negate',
  ]);
});
