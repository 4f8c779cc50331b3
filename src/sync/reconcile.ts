/** Knows one sync cycle from end to end: read both sides, plan, permit, apply; returns values, prints nothing. */
import type { Ending } from '../failure.ts';
import { type AppliedItem, type ApplyReport, applyPlan, endingOf } from './apply/apply.ts';
import { acquireLease } from './apply/owner-lease.ts';
import { SecretOutput } from './apply/secret-output.ts';
import { findRefusal, type Refusal } from './plan/guards.ts';
import { makePlan } from './plan/plan.ts';
import type { Plan } from './plan/planned.ts';
import type { AdminClient } from './server/client.ts';
import { readSnapshot, type SnapshotRead, toLiveSet } from './server/live.ts';
import { type DesiredResource, type DesiredSet, identityKey } from './spec/resource-set.ts';

export interface CycleOptions {
  readonly client: AdminClient;
  /**
   * Reads the source as it stands now.
   *
   * @throws Failure (invalid input, unreachable) with everything that is wrong with it
   */
  readonly readDesired: () => Promise<DesiredSet>;
  /** False stops after the plan. */
  readonly act: boolean;
  /** False leaves alone what left the source without a tombstone. */
  readonly prune: boolean;
  /** How many such deletes have been released; null when none were named. */
  readonly allowDeletes: number | null;
  readonly takeOwnership: boolean;
  /** Folder of the files that `secretOutput` writes. */
  readonly secretsFolder: string;
  /** The command line that leads here, for advice: `gatewright apply ./gateway`. */
  readonly command: string;
  /** Aborted: what is under way is finished, nothing more is started. */
  readonly signal?: AbortSignal | undefined;
  /** What whoever waits for this run is told: `apply on host-1 (process 12)`. */
  readonly holder: string;
  /** Longest time to wait for another run of the same owner, ms; a default when absent. */
  readonly leaseWaitMs?: number | undefined;
  /** Told once, when another run of the same owner has to be waited for. */
  readonly onWait?: ((message: string) => void) | undefined;
  /** What the last cycle read of the server; saves reading it again while it has not changed. */
  readonly previous?: SnapshotRead | null | undefined;
  /** Asked before anything is written, when there is something to write. */
  readonly confirm?: ((plan: Plan) => Promise<boolean>) | undefined;
  readonly onItem?: ((item: AppliedItem) => void) | undefined;
}

export interface CycleResult {
  readonly plan: Plan;
  /** Set when a guard refused the plan; nothing was written. */
  readonly refusal: Refusal | null;
  /** True when `confirm` said no; nothing was written. */
  readonly declined: boolean;
  /** Null when nothing was tried. */
  readonly report: ApplyReport | null;
  readonly warnings: readonly string[];
  readonly ending: Ending;
  /** State of the server before the cycle. */
  readonly read: SnapshotRead;
}

/**
 * Plans without the owner's lease, which is for those who write; then takes it, looks again at what
 * whoever had it before may have changed, and carries out what is to be done now. What a person has
 * confirmed is carried out as confirmed: what has changed since then is stale, never overwritten.
 *
 * @throws Failure when a side cannot be read, the source is wrong, or another run has the lease;
 *   then nothing was written
 */
export async function reconcile(options: CycleOptions): Promise<CycleResult> {
  const { client, act, signal, onWait } = options;
  const desired = await options.readDesired();
  const { outputs, ...first } = await look(options, desired, options.previous ?? null);
  const waiting = await waitingValues(desired.resources, first.plan, outputs);
  const isIdle = writes(first.plan) === 0 && waiting.length === 0;
  if (!act || first.refusal !== null || isIdle) return first;
  if (options.confirm !== undefined && !(await options.confirm(first.plan))) {
    return { ...first, declined: true, ending: 'changesPresent' };
  }
  const { holder, takeOwnership: takeOver, leaseWaitMs: waitMs } = options;
  await using lease = await acquireLease(client, { holder, takeOver, signal, onWait, waitMs });
  const { outputs: _, ...now } = await look(options, desired, first.read);
  if (now.refusal !== null) return now;
  const { plan } = options.confirm === undefined ? now : first;
  for (const waits of await waitingValues(desired.resources, plan, outputs)) {
    await outputs.deliver(waits);
  }
  const warnings = await warningsOf(desired, plan, outputs);
  if (writes(plan) === 0) return { ...now, warnings };
  const report = await applyPlan(plan, {
    ...{ client, lease, secretOutput: outputs, signal, onItem: options.onItem },
    lookAgain: async () => {
      const again = toLiveSet(await readSnapshot(client, null), client.owner, desired.externals);
      return new Map(again.resources.map((resource) => [identityKey(resource.identity), resource]));
    },
  });
  const applied = endingOf(report);
  const isHeldBack = applied === 'success' && plan.blocked.length > 0;
  return { ...now, plan, warnings, report, ending: isHeldBack ? 'refusedByGuard' : applied };
}

/** What there is to do, with nothing done yet. */
async function look(
  options: CycleOptions,
  desired: DesiredSet,
  previous: SnapshotRead | null,
): Promise<CycleResult & { outputs: SecretOutput }> {
  const { client, takeOwnership, prune } = options;
  const read = await readSnapshot(client, previous, options.signal);
  const live = toLiveSet(read, client.owner, desired.externals);
  const plan = makePlan(desired, live, { owner: client.owner, takeOwnership, prune });
  const outputs = new SecretOutput(options.secretsFolder, read.snapshot.api_key_prefix);
  const warnings = await warningsOf(desired, plan, outputs);
  const refusal = findRefusal(plan, options) ?? null;
  const ending = endingOfPlan(plan, refusal);
  return { plan, refusal, warnings, read, ending, outputs, declined: false, report: null };
}

/** How many changes a plan would write. */
function writes(plan: Plan): number {
  return plan.changes.filter((change) => change.action !== 'retain').length;
}

function endingOfPlan(plan: Plan, refusal: Refusal | null): Ending {
  if (refusal !== null || plan.blocked.length > 0) return 'refusedByGuard';
  return writes(plan) > 0 ? 'changesPresent' : 'success';
}

/** Keys whose value nobody would ever see. */
function lostValues(plan: Plan): string[] {
  return plan.changes
    .filter(
      ({ action, identity, desired }) =>
        identity.kind === 'ApiKey' &&
        (action === 'create' || action === 'replace') &&
        desired?.secretOutput === null,
    )
    .map(
      ({ id }) =>
        `${id} has no secretOutput: its value is shown nowhere; name a file for it, or rotate it by the API`,
    );
}

async function warningsOf(
  { resources }: DesiredSet,
  plan: Plan,
  outputs: SecretOutput,
): Promise<string[]> {
  const warnings = [...plan.warnings, ...lostValues(plan)];
  for (const resource of existingOutputs(resources, plan)) {
    const state = await outputs.state(resource);
    if (state === 'missing') warnings.push(outputs.missingMessage(resource));
    if (state === 'pending') {
      const id = identityKey(resource.identity);
      warnings.push(`the value of ${id} waits in its .pending file; apply puts it in place`);
    }
  }
  return warnings;
}

/** Deliveries that were cut off after the key was made. */
async function waitingValues(
  resources: readonly DesiredResource[],
  plan: Plan,
  outputs: SecretOutput,
): Promise<DesiredResource[]> {
  const existing = existingOutputs(resources, plan);
  const states = await Promise.all(existing.map((resource) => outputs.state(resource)));
  return existing.filter((_, at) => states[at] === 'pending');
}

/** Keys that are there already and whose value belongs in a file. */
function existingOutputs(resources: readonly DesiredResource[], plan: Plan): DesiredResource[] {
  const created = new Set(
    plan.changes.filter(({ action }) => action !== 'update').map(({ id }) => id),
  );
  return resources.filter((resource) => {
    const id = identityKey(resource.identity);
    const exists = plan.live.get(id)?.owner === plan.owner && !created.has(id);
    return resource.secretOutput !== null && !resource.absent && exists;
  });
}
