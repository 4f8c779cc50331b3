/** Knows which plans are too dangerous to carry out unasked: those that would delete much by mistake. */
import { identityKey } from '../resources/resource-set.ts';
import type { BlockedItem, Plan } from './planned.ts';

/**
 * Writes the command that goes on from here with the options in force and these as well, as it can be
 * typed: `gatewright apply ./gateway --owner team-a --allow-deletes 12`.
 */
export type CommandLine = (options: Readonly<Record<string, string | true>>) => string;

export interface GuardOptions {
  /** How many deletes the user has released; null when none were named. */
  readonly allowDeletes: number | null;
  readonly command: CommandLine;
}

/** Deletes up to this share of what the owner has pass unasked; one always does, of a small set. */
const deletesShareMax = 0.2;

export interface Refusal {
  /** Reason and way out, with the command to run. */
  readonly message: string;
  readonly deletes: number;
}

/**
 * Why the plan must not be carried out as it is, or undefined. Only deletes that nobody wrote down
 * count; a tombstone is its own permission.
 */
export function findRefusal(plan: Plan, options: GuardOptions): Refusal | undefined {
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
would be deleted; more than ${limit} at once needs your word`;
  const message = `Refused: ${reason}.
  If that is meant:            ${options.command(releaseOf(plan))}
  To apply everything else:    ${options.command({ 'no-prune': true })}`;
  return { message, deletes };
}

/** The options by which an apply that somebody runs deletes all that left the source. */
export function releaseOf({ changes, blocked }: Plan): Record<string, string> {
  const waiting = blocked.filter(isWaiting);
  const leaving = [...changes.filter(({ prune }) => prune), ...waiting];
  const workspaces = leaving.filter(({ identity }) => identity.kind === 'Workspace');
  const taken = new Set(workspaces.map(({ identity }) => identity.name));
  // With a workspace go its keys; whether one that nobody asked about is in use is not known here.
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

/** A removal that wants a word by name, or goes with one that does. */
function isGuarded({ reason }: BlockedItem): boolean {
  return reason === 'guarded' || reason === 'used-key' || reason === 'parent-stays';
}

/** A removal that waits for a word, or for a source that nobody watches to settle. */
function isWaiting(item: BlockedItem): boolean {
  return isGuarded(item) || item.reason === 'unattended' || item.reason === 'settling';
}
