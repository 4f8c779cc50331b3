/** Knows how it is told that a part of the source is wrong while the rest is applied. */
import { oneLine } from '../../terminal-text.ts';
import type { Plan } from '../plan/planned.ts';
import { type HeldFault, placeText } from '../resources/resource-set.ts';

/** More faults of one part than this help nobody; the count says how many there are. */
const faultsShownMax = 20;
const workspacesShownMax = 5;

/** A headline for each part, its faults below it; none where all is right. */
export function faultLines({ faults }: Plan): string[] {
  const parts = Map.groupBy(faults, ({ workspaces }) => partText(workspaces));
  return [...parts].flatMap(([part, all]) => {
    const hidden = all.length - faultsShownMax;
    return [
      part,
      ...all.slice(0, faultsShownMax).flatMap(({ fault }) => faultText(fault)),
      ...(hidden > 0 ? [`    … and ${hidden} more`] : []),
    ];
  });
}

function faultText({ position, message, fix }: HeldFault['fault']): string[] {
  const below = fix === undefined ? [] : [`      ${oneLine(fix)}`];
  return [`    ${oneLine(placeText(position))} ${oneLine(message)}`, ...below];
}

function partText(workspaces: HeldFault['workspaces']): string {
  if (workspaces.length === 0) return 'wrong, nobody can say where; nothing is removed anywhere:';
  const parts = workspaces
    .slice(0, workspacesShownMax)
    .map((name) => (name === null ? 'the organisation’s own' : `workspace ${oneLine(name)}`));
  const hidden = workspaces.length - workspacesShownMax;
  const more = hidden > 0 ? ` and ${hidden} more` : '';
  return `wrong in ${parts.join(', ')}${more}; nothing of it is applied:`;
}
