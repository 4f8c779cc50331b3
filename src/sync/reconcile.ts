/** Knows one sync cycle from end to end: read both sides, plan, permit, apply; returns values, prints nothing. */
import type { Ending } from '../failure.ts';
import { type AppliedItem, type ApplyReport, applyPlan, endingOf } from './apply/apply.ts';
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

/** @throws Failure when a side cannot be read, or the source is wrong; then nothing was written */
export async function reconcile(options: CycleOptions): Promise<CycleResult> {
  const { client, act, prune, takeOwnership } = options;
  const desired = await options.readDesired();
  const read = await readSnapshot(client, options.previous ?? null, options.signal);
  const live = toLiveSet(read, client.owner, desired.externals);
  const plan = makePlan(desired, live, { owner: client.owner, takeOwnership, prune });
  const outputs = new SecretOutput(options.secretsFolder, read.snapshot.api_key_prefix);
  const warnings = [
    ...plan.warnings,
    ...lostValues(plan),
    ...(await settleOutputs(desired.resources, plan, outputs, act)),
  ];
  const refusal = findRefusal(plan, options) ?? null;
  const done = { plan, refusal, warnings, read, declined: false, report: null };
  const isIdle = writes(plan) === 0;
  if (!act || refusal !== null || isIdle) {
    return { ...done, ending: endingOfPlan(plan, refusal) };
  }
  if (options.confirm !== undefined && !(await options.confirm(plan))) {
    return { ...done, declined: true, ending: 'changesPresent' };
  }
  const report = await applyPlan(plan, {
    client,
    secretOutput: outputs,
    lookAgain: async () => {
      const now = toLiveSet(await readSnapshot(client, null), client.owner, desired.externals);
      return new Map(now.resources.map((resource) => [identityKey(resource.identity), resource]));
    },
    signal: options.signal,
    onItem: options.onItem,
  });
  const applied = endingOf(report);
  const isHeldBack = applied === 'success' && plan.blocked.length > 0;
  return { ...done, report, ending: isHeldBack ? 'refusedByGuard' : applied };
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

/** Finishes deliveries that were cut off after the key was made, and names values that are lost. */
async function settleOutputs(
  resources: readonly DesiredResource[],
  plan: Plan,
  outputs: SecretOutput,
  act: boolean,
): Promise<string[]> {
  const created = new Set(
    plan.changes.filter(({ action }) => action !== 'update').map(({ id }) => id),
  );
  const warnings: string[] = [];
  for (const resource of resources) {
    const id = identityKey(resource.identity);
    const exists = plan.live.get(id)?.owner === plan.owner && !created.has(id);
    if (resource.secretOutput === null || resource.absent || !exists) continue;
    const state = await outputs.state(resource);
    if (state === 'missing') warnings.push(outputs.missingMessage(resource));
    if (state !== 'pending') continue;
    if (act) await outputs.deliver(resource);
    else warnings.push(`the value of ${id} waits in its .pending file; apply puts it in place`);
  }
  return warnings;
}
