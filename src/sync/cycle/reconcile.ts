/** Runs one sync cycle: read both sides, plan, check the guards, apply. Returns values, prints nothing. */
/*
 * Each look at the server gathers its facts first and then makes one plan. A cycle makes at most two:
 * one without the lease, which tells whether there is work and whether a guard refuses it, and one under
 * the lease, from the state that the previous holder left. Where ownership blocks something, the second
 * comparison that counts what `--take-ownership` would unblock belongs to the advice, not to the cycle.
 */
import { needsSettling } from '../apply/key-settling.ts';
import { acquireLease } from '../apply/owner-lease.ts';
import type { DesiredSet } from '../resources/resource-set.ts';
import type { SnapshotRead } from '../server/live.ts';
import { carryOut } from './carry-out.ts';
import { countWrites } from './cycle-ending.ts';
import type { CycleOptions, CycleResult } from './cycle-options.ts';
import { gatherFacts } from './facts.ts';
import { type JudgedPlan, judgePlan, makeGuardedPlan, openCycleSinks } from './judge-plan.ts';

/**
 * A plan that a person confirmed is carried out as confirmed: what has changed since then counts as
 * stale and is never overwritten.
 *
 * @throws Failure when a side cannot be read, the source is invalid, or another run holds the lease;
 *   nothing was written then
 */
export async function reconcile(options: CycleOptions): Promise<CycleResult> {
  const { act, confirm } = options;
  const desired = await options.readDesired();
  // Without anybody to show the plan to, suspensions and history are read under the lease only.
  const readsStanding = !act || (confirm ?? options.assertExpected) !== undefined;
  const facts = await gatherFacts(options, desired, options.previous ?? null, readsStanding);
  const guarded = makeGuardedPlan(options, facts);
  // Not awaited, so that this plan can be freed while the one under the lease is made.
  const isPreliminary = act && confirm === undefined && guarded.refusal === null;
  if (isPreliminary && countWrites(guarded.plan) > 0) {
    return underLease(options, desired, facts.read, null);
  }
  const first = await judgePlan(options, facts, guarded);
  if (!act || guarded.refusal !== null || (await isIdle(options, first))) return first.result;
  if (confirm !== undefined && !(await confirm(first.result.plan))) {
    return { ...first.result, declined: true, ending: 'changesPresent' };
  }
  return underLease(options, desired, facts.read, confirm === undefined ? null : first);
}

/** @param confirmed the plan that a person confirmed; null when none was asked */
async function underLease(
  options: CycleOptions,
  desired: DesiredSet,
  read: SnapshotRead,
  confirmed: JudgedPlan | null,
): Promise<CycleResult> {
  const takeOver = options.takeOwnership;
  const terms = {
    holder: options.holder,
    takeOver,
    takeOverCommand: options.command({ 'take-ownership': true }),
    signal: options.signal,
    onWait: options.onWait,
  };
  await using lease = await (options.takeLease?.(terms) ?? acquireLease(options.client, terms));
  // Work that needed the whole snapshot before needs it now.
  const looksAtOwnFirst = options.looksAtOwnFirst === true && read.query.view === 'own';
  const now = await lookUnderLease({ ...options, looksAtOwnFirst }, desired, read);
  const isPaused = confirmed !== null && isSuspended(now) && !isSuspended(confirmed);
  if (now.result.refusal !== null || isPaused) return now.result;
  const { advice, result } = confirmed ?? now;
  const chosen = { ...now, advice, result: { ...now.result, plan: result.plan } };
  return await carryOut(options, desired, lease, chosen);
}

async function lookUnderLease(
  options: CycleOptions,
  desired: DesiredSet,
  previous: SnapshotRead,
): Promise<JudgedPlan> {
  const facts = await gatherFacts(options, desired, previous, true);
  return await judgePlan(options, facts, makeGuardedPlan(options, facts));
}

/** Returns whether nothing has to be written, neither on the server nor in a sink. */
async function isIdle(
  options: CycleOptions,
  { result: { plan, read }, keys }: JudgedPlan,
): Promise<boolean> {
  if (countWrites(plan) > 0 || keys.some(needsSettling)) return false;
  return (await openCycleSinks(options, read).listLeaving()).found.length === 0;
}

function isSuspended({ result }: JudgedPlan): boolean {
  return result.plan.blocked.some(({ reason }) => reason === 'suspended');
}
