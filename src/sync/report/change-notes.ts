/** Knows what is said of a change beside its fields: why, from where, and what ends with it. */
import { oneLine, printable } from '../../terminal-text.ts';
import { endsWithReplace } from '../plan/consequences.ts';
import { describeSource } from '../plan/ownership.ts';
import type { BlockedItem, PlannedChange } from '../plan/planned.ts';
import type { Position } from '../spec/resource-set.ts';

/** In the order in which they are told. */
export function changeNotes(change: PlannedChange): string[] {
  const { action, reason, live, identity } = change;
  return [
    ...(reason === 'change'
      ? []
      : [reason === 'rename' ? `rename from ${live!.declared}` : reason]),
    ...(action === 'adopt' ? ['takes ownership'] : []),
    ...(action === 'retain' ? ['left the source, stays on the server'] : []),
    ...(action === 'replace' ? [`ends ${endsWithReplace(identity.kind).join(' and ')}`] : []),
    ...(change.prune ? [`left the source${lastPlace(change)}`] : []),
    ...(change.position === null ? [] : [placeText(change.position)]),
  ];
}

function lastPlace({ live }: PlannedChange): string {
  return live?.source == null ? '' : `, last in ${describeSource(live.source)}`;
}

export function blockedText({ id, position, message }: BlockedItem): string {
  const place = position === null ? '' : ` (${placeText(position)})`;
  return `${oneLine(id)}${place}: ${printable(message)}`;
}

export function placeText({ file, line, column }: Position): string {
  return `${oneLine(file)}:${line}:${column}`;
}
