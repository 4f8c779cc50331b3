/** Formats the commands that release what a plan holds back. */
import { type CommandLine, releaseOf } from './guards.ts';
import type { Plan } from './plan-model.ts';

/**
 * Returns a sentence with a command for each release that is needed. `takenOver` is the plan with
 * `--take-ownership`, or null when that would not help.
 */
export function releaseAdvice(plan: Plan, takenOver: Plan | null, command: CommandLine): string[] {
  return [
    ...ofRemovals(plan, command),
    ...ofOwnership(plan, takenOver, command),
    ...ofSuspensions(plan, command),
  ];
}

function ofRemovals(plan: Plan, command: CommandLine): string[] {
  const wanting = (wanted: string): number =>
    plan.blocked.filter(({ reason }) => reason === wanted).length;
  const [unattended, workspaces] = [wanting('unattended'), wanting('guarded')];
  const keys = wanting('used-key');
  if (unattended + workspaces + keys === 0) return [];
  const now = `To delete now: ${command(releaseOf(plan))}`;
  if (unattended === 0) {
    const what = [
      ...(workspaces === 0 ? [] : [workspaces === 1 ? '1 workspace' : `${workspaces} workspaces`]),
      ...(keys === 0 ? [] : [keys === 1 ? '1 API key in use' : `${keys} API keys in use`]),
    ].join(' and ');
    const isOne = workspaces + keys === 1;
    return [
      isOne
        ? `${what} left the source and stays${keys === 1 ? '' : ', with what is in it,'} until it is named. ${now}`
        : `${what} left the source and stay, with what is in them, until they are named. ${now}`,
    ];
  }
  const what =
    unattended === 1
      ? '1 API key or workspace left the source and stays'
      : `${unattended} API keys and workspaces left the source and stay`;
  return [`${what}, because an unattended sync does not delete them. ${now}`];
}

function ofSuspensions({ blocked }: Plan, command: CommandLine): string[] {
  const count = blocked.filter(({ reason }) => reason === 'suspended').length;
  if (count === 0) return [];
  const go = command({ 'even-if-suspended': true });
  return [`${count} suspended; they continue automatically when it ends. To write them now: ${go}`];
}

function ofOwnership(plan: Plan, takenOver: Plan | null, command: CommandLine): string[] {
  if (takenOver === null) return [];
  const remain = new Set(takenOver.blocked.map(({ id }) => id));
  const count = plan.blocked.filter(({ id }) => !remain.has(id)).length;
  if (count === 0) return [];
  return [`${count} blocked can be taken over: ${command({ 'take-ownership': true })}`];
}
