/** Refuses plans that would delete many resources, probably by mistake. */
import { identityKey } from '../resources/resource-set.ts';
import type { BlockedItem, Plan } from './plan-model.ts';

/**
 * Formats the command that continues from here: the options in force plus the given ones, as
 * `gatewright apply ./gateway --owner team-a --allow-deletes 12`.
 */
export type CommandLine = (options: Readonly<Record<string, string | true>>) => string;

export interface PlanGuardOptions {
  /** Number of deletes that the user released; null when none was given. */
  readonly allowDeletes: number | null;
  readonly command: CommandLine;
}

/**
 * Deletes up to this share of the owner's resources need no release; at least one is always free.
 */
const deletesShareMax = 0.2;

export interface Refusal {
  /** The reason and the command that releases it. */
  readonly message: string;
  readonly deletes: number;
}

/**
 * Returns why the plan must not be carried out, or undefined. Only pruning counts; a tombstone is
 * its own permission.
 */
export function findPruneRefusal(plan: Plan, options: PlanGuardOptions): Refusal | undefined {
  const isEmpty = plan.desired === 0;
  const isHeld =
    isEmpty && plan.blocked.some(({ reason }) => reason === 'guarded' || reason === 'used-key');
  const guarded = isHeld ? plan.blocked.filter(isGuarded).length : 0;
  const deletes = plan.changes.filter((change) => change.prune).length + guarded;
  if (deletes === 0 || deletes <= (options.allowDeletes ?? 0)) return undefined;
  const limit = Math.max(1, Math.floor(plan.owned * deletesShareMax));
  if (!isEmpty && deletes <= limit) return undefined;
  const reason = isEmpty
    ? `the source declares no resource, so all ${deletes} that "${plan.owner}" owns would be deleted`
    : `${deletes} of the ${plan.owned} resources that "${plan.owner}" owns left the source and \
would be deleted; more than ${limit} at once must be confirmed`;
  const message = `Refused: ${reason}.
  If that is meant:            ${options.command(releaseOf(plan))}
  To apply everything else:    ${options.command({ 'no-prune': true })}`;
  return { message, deletes };
}

/** Returns the options with which a person's apply deletes everything that left the source. */
export function releaseOf({ changes, blocked }: Plan): Record<string, string> {
  const waiting = blocked.filter(isWaiting);
  const leaving = [...changes.filter(({ prune }) => prune), ...waiting];
  const workspaces = leaving.filter(({ identity }) => identity.kind === 'Workspace');
  const taken = new Set(workspaces.map(({ identity }) => identity.name));
  // The keys in a workspace are deleted with it; whether other keys are in use is unknown here.
  const keys = waiting.filter(
    ({ reason, identity: { kind, workspace } }) =>
      kind === 'ApiKey' && reason !== 'settling' && !taken.has(workspace ?? ''),
  );
  const named = [...workspaces, ...keys].map(({ identity }) => identityKey(identity));
  return {
    'allow-deletes': String(leaving.length),
    ...(named.length === 0 ? {} : { delete: named.toSorted().join(',') }),
  };
}

/** A deletion that must be named, or goes with one that must. */
function isGuarded({ reason }: BlockedItem): boolean {
  return reason === 'guarded' || reason === 'used-key' || reason === 'parent-stays';
}

/** A deletion that waits to be named, or for the source to settle. */
function isWaiting(item: BlockedItem): boolean {
  return isGuarded(item) || item.reason === 'unattended' || item.reason === 'settling';
}
