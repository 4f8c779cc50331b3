/** Describes a change besides its fields: reason, origin, and what is lost with it. */
import { oneLine, printable } from '../../terminal-text.ts';
import { endsWithReplace } from '../diff/consequences.ts';
import { describeSource } from '../plan/ownership.ts';
import type { BlockedItem, PlannedChange } from '../plan/plan-model.ts';
import type { PlannedRotation } from '../plan/rotation.ts';
import { placeText } from '../resources/resource-set.ts';

/** In display order. */
export function changeNotes(change: PlannedChange): string[] {
  const { action, reason, live, identity } = change;
  return [
    ...(reason === 'change' || reason === 'rotation'
      ? []
      : [reason === 'rename' ? `rename from ${live!.declared}` : reason]),
    ...(change.rotation === null ? [] : rotationNotes(change.rotation)),
    ...(action === 'adopt' ? ['takes ownership'] : []),
    ...(action === 'retain' ? ['left the source, stays on the server'] : []),
    ...(action === 'replace' ? [`ends ${endsWithReplace(identity.kind).join(' and ')}`] : []),
    ...(change.prune ? [`left the source${lastPlace(change)}`] : []),
    ...(change.position === null ? [] : [placeText(change.position)]),
  ];
}

function rotationNotes({ because, generation, dueAt, overlapMs }: PlannedRotation): string[] {
  const why = {
    generation: `generation ${generation.from} → ${generation.to}`,
    period: `due since ${dueAt}`,
    unfinished: 'finishes a rotation whose value was not delivered',
  }[because];
  return [why, `the previous value ends ${durationText(overlapMs)} after the new one is delivered`];
}

function durationText(ms: number): string {
  const units = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'm'],
  ] as const;
  const [unitMs, unit] = units.find(([size]) => ms % size === 0) ?? [1, ' ms'];
  return `${ms / unitMs}${unit}`;
}

function lastPlace({ live }: PlannedChange): string {
  return live?.source == null ? '' : `, last in ${describeSource(live.source)}`;
}

export function blockedText({ id, position, message }: BlockedItem): string {
  const place = position === null ? '' : ` (${oneLine(placeText(position))})`;
  return `${oneLine(id)}${place}: ${printable(message)}`;
}
