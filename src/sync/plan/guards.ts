/** Knows which plans are too dangerous to carry out unasked: those that would delete much by mistake. */
import type { Plan } from './planned.ts';

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

/** Deletes up to this number pass unasked, or up to the share of all owned resources if that is more. */
const deletesMax = 10;
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
  const deletes = plan.changes.filter((change) => change.prune).length;
  if (deletes === 0 || deletes <= (options.allowDeletes ?? 0)) return undefined;
  const limit = Math.max(deletesMax, Math.floor(plan.owned * deletesShareMax));
  if (plan.desired > 0 && deletes <= limit) return undefined;
  const reason =
    plan.desired === 0
      ? `the source declares no resource, so all ${deletes} that "${plan.owner}" owns would be deleted`
      : `${deletes} of the ${plan.owned} resources that "${plan.owner}" owns left the source and \
would be deleted; more than ${limit} at once needs your word`;
  const message = `Refused: ${reason}.
  If that is meant:            ${options.command({ 'allow-deletes': String(removals(plan)) })}
  To apply everything else:    ${options.command({ 'no-prune': true })}`;
  return { message, deletes };
}

/** How many resources an apply that somebody runs would delete because they left the source. */
function removals({ changes, blocked }: Plan): number {
  return changes.filter((change) => change.prune).length + waitingRemovals(blocked);
}

/** Those of them that wait because nobody watches. */
export function waitingRemovals(blocked: Plan['blocked']): number {
  return blocked.filter(({ reason }) => reason === 'unattended' || reason === 'settling').length;
}
