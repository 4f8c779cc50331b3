/** Tests the state of a daemon when several conditions hold at once. */
import { describe, expect, it } from 'vitest';
import { endingOfPlan } from '../../../../src/sync/cycle/cycle-ending.ts';
import type { CycleResult } from '../../../../src/sync/cycle/cycle-options.ts';
import { readSource } from '../../../../src/sync/desired/desired.ts';
import { makePlan } from '../../../../src/sync/plan/plan.ts';
import { type LoopStatus, SyncState } from '../../../../src/sync/status/sync-state.ts';
import { manifest, sourceOf } from '../../../support/sync/manifests.ts';
import { ModelServer, owner } from '../../../support/sync/sync-model.ts';

const secrets = {
  environment: () => undefined,
  readValue: async () => undefined,
  requireSecrets: true,
};
const right = {
  'sales.yaml': manifest('Workspace', 'sales', '{}'),
  'support.yaml': manifest('Workspace', 'support', '{}'),
};
const wrong = { ...right, 'a.yaml': manifest('Config', 'a', 'x: 1', ', workspace: support') };
const suspension = { workspace: 'sales', until: null, reason: 'frozen' };

async function standingAfter(
  texts: Record<string, string>,
  { kind, isSuspended }: { kind: 'cycle' | 'drift'; isSuspended: boolean },
): Promise<LoopStatus> {
  const { set } = await readSource(sourceOf(texts), secrets);
  const server = new ModelServer();
  const plan = makePlan(set, server.live(), {
    owner,
    takeOwnership: false,
    prune: true,
    now: 0,
    suspensions: isSuspended ? [suspension] : [],
  });
  const result: CycleResult = {
    plan,
    refusal: null,
    declined: false,
    report: null,
    warnings: [],
    deliveries: [],
    ending: endingOfPlan(plan, null),
    read: server.read(),
  };
  const state = new SyncState({ now: () => 1_000 });
  state.onLook({
    kind: 'seen',
    version: { digest: null, revision: set.source.digest },
    isRetryPending: false,
  });
  const event = { result, durationMs: 0, isNews: true, sourceFailure: null, isVersionHeld: false };
  state.onEvent(kind === 'cycle' ? { ...event, kind, retryAt: null } : { ...event, kind });
  return state.status;
}

describe('a daemon', () => {
  it('reports Degraded with the position when one workspace is suspended and another is wrong', async () => {
    const terms = { kind: 'cycle', isSuspended: true } as const;
    expect(await standingAfter(right, terms)).toMatchObject({ state: 'Suspended', place: null });
    expect(await standingAfter(wrong, terms)).toMatchObject({
      state: 'Degraded',
      place: { file: 'a.yaml', line: 5 },
    });
  });

  it('reports Degraded while a workspace is wrong in drift-only mode, and has not applied the version', async () => {
    const terms = { kind: 'drift', isSuspended: false } as const;
    expect(await standingAfter(right, terms)).toMatchObject({
      state: 'OutOfSync',
      driftCount: 2,
      lastSuccessAt: 1_000,
    });
    expect(await standingAfter(wrong, terms)).toMatchObject({
      state: 'Degraded',
      applied: null,
      lastSuccessAt: null,
    });
  });

  it('reports OutOfSync in drift-only mode while changes of the version are pending', async () => {
    const away = { 'e.yaml': manifest('External', 'away', '{kind: Guardrail, slug: away}') };
    const terms = { kind: 'drift', isSuspended: false } as const;
    expect(await standingAfter(away, terms)).toMatchObject({
      state: 'OutOfSync',
      applied: null,
      lastSuccessAt: null,
      message: expect.stringContaining('is blocked'),
    });
  });
});
