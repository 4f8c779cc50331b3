/** Plans the change from one spec to another for an applied resource. */
import type { KindName } from '../../../src/model/kinds/kinds.ts';
import { makePlan } from '../../../src/sync/plan/plan.ts';
import type { Plan } from '../../../src/sync/plan/plan-model.ts';
import type { Identity, LiveResource, Spec } from '../../../src/sync/resources/resource-set.ts';
import { owner, setOf, want } from './sync-model.ts';

const position = { file: 'x.yaml', line: 1, column: 1 };

const nothingElse = { unknown: [], etag: '', fingerprintKey: null };

/** A spec may name guardrails that no server has. */
function switchedOff(kind: KindName): ReadonlyMap<string, string> {
  return new Map(kind === 'Guardrail' ? [] : [['Guardrail', 'GUARDRAILS_ENABLED']]);
}

/** Null means no resource on that side. */
export function planOf(kind: KindName, live: Spec | null, desired: Spec | null, base = live): Plan {
  const identity: Identity = { kind, workspace: null, name: 'x' };
  const resource: LiveResource = {
    identity,
    id: 'id-1',
    slug: 'slug-1',
    version: 1,
    spec: live ?? {},
    owner,
    base,
    isRecordedHere: true,
    isOfDeployment: false,
    rotation: null,
    declared: `${kind}/x`,
    source: null,
    title: 'x',
  };
  const wanted = { ...want(kind, 'x'), identity, spec: desired ?? {}, position };
  return makePlan(
    setOf(desired === null ? [] : [wanted]),
    { ...nothingElse, resources: live === null ? [] : [resource], switchedOff: switchedOff(kind) },
    { owner, takeOwnership: false, prune: true, now: 0 },
  );
}
