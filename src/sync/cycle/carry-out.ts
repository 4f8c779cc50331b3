/** Carries out a judged plan under the owner's lease: settles keys, applies, proves deliveries, records. */
import { systemClock } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import { applyPlan, endingOfReport } from '../apply/apply.ts';
import { findHolders } from '../apply/key-proofs.ts';
import { settleAll } from '../apply/key-settling.ts';
import type { ExistingKey, KeyDelivery } from '../apply/key-survey.ts';
import { existingKeys, writtenKeys } from '../apply/keys-of-plan.ts';
import type { HeldLease } from '../apply/owner-lease.ts';
import { recordRun, revisionOf } from '../apply/revision.ts';
import { SecretOutput } from '../apply/secret-output.ts';
import type { Plan } from '../plan/plan-model.ts';
import { type DesiredSet, identityKey } from '../resources/resource-set.ts';
import { readSnapshot, type SnapshotRead, toLiveSet } from '../server/live.ts';
import { onlyRestores, withDeliveries, withFaults } from './cycle-ending.ts';
import type { CycleOptions, CycleResult } from './cycle-options.ts';
import {
  type JudgedPlan,
  messagesOf,
  openCycleSinks,
  ownedResources,
  survey,
} from './judge-plan.ts';

/**
 * A key counts as delivered only after its value has been read back from its sink, so the sinks are
 * surveyed once more at the end.
 */
export async function carryOut(
  options: CycleOptions,
  desired: DesiredSet,
  lease: HeldLease,
  { result, advice, keys, lastRevision }: JudgedPlan,
): Promise<CycleResult> {
  const { client, signal } = options;
  const { plan, read } = result;
  const secretOutput = new SecretOutput({
    sinks: openCycleSinks(options, read),
    fence: lease.fence,
    keyPrefix: read.snapshot.api_key_prefix,
    findHolders: (claims) => findHolders(client, claims),
    owned: new Map(ownedResources(plan).map(([key, { id }]) => [id, key])),
  });
  secretOutput.warnings.push(...(await secretOutput.deletion.sweep()));
  await settleAll(secretOutput, keys, () =>
    survey({ ...options, signal: undefined }, read, plan, existingKeys(plan)),
  );
  const startedAt = systemClock.now();
  const report = await applyPlan(plan, {
    client,
    lease,
    secretOutput,
    signal,
    onItem: options.onItem,
    isAtomic: options.isAtomic === true,
    changesMax: read.snapshot.changes_max ?? 1,
    lookAgain: async () => {
      const again = toLiveSet(await readSnapshot(client, null), client.owner, desired.externals);
      return new Map(again.resources.map((resource) => [identityKey(resource.identity), resource]));
    },
  });
  const proven = await prove(options, read, plan, [
    ...existingKeys(plan),
    ...writtenKeys(plan, report),
  ]);
  const deliveries = proven ?? result.deliveries;
  const applied = endingOfReport(report);
  const run = { ending: applied, startedAt, finishedAt: systemClock.now() };
  // A run that only restores is no new step of the history: it keeps the origin of the last one.
  const origin = onlyRestores(plan.changes) ? lastRevision : null;
  const unrecorded = await recordRun(client, lease, revisionOf(plan, report, { ...run, origin }));
  await leaveCopy(options, lease);
  const warnings = [
    ...advice,
    ...secretOutput.warnings,
    ...messagesOf(deliveries),
    ...(proven === null
      ? ['whether the values of keys are where they belong could not be asked; run it again']
      : []),
    ...unrecorded,
  ];
  const isHeldBack = applied === 'success' && plan.blocked.length > 0;
  const ending = withFaults(
    isHeldBack ? 'refusedByGuard' : withDeliveries(applied, deliveries, true),
    plan,
  );
  const isUnproven = proven === null && ending === 'success';
  return {
    ...result,
    warnings,
    deliveries,
    report: report.items.length === 0 ? null : report,
    ending: isUnproven ? 'retryable' : ending,
  };
}

/** A copy that cannot be left now does not change the outcome of the run; the next run leaves it. */
async function leaveCopy({ copies, client }: CycleOptions, lease: HeldLease): Promise<void> {
  if (copies === undefined || lease.isLost) return;
  try {
    await copies.send(client, lease.fence);
  } catch {
    // The copy only serves proposals of changes, which say when there is none.
  }
}

/** Surveys the keys after the run, also when it was interrupted; null when the server is unreachable. */
async function prove(
  options: CycleOptions,
  read: SnapshotRead,
  plan: Plan,
  keys: readonly ExistingKey[],
): Promise<KeyDelivery[] | null> {
  try {
    const surveyed = await survey({ ...options, signal: undefined }, read, plan, keys);
    return surveyed.map(({ delivery }) => delivery);
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  }
}
