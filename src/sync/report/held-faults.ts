/** Formats the faults of an invalid part of the source while the rest is applied. */
import { oneLine } from '../../terminal-text.ts';
import type { Plan } from '../plan/plan-model.ts';
import { type HeldFault, placeText } from '../resources/resource-set.ts';

/** More faults of one part are only counted. */
const listedFaultsMax = 20;
const listedWorkspacesMax = 5;

/** Returns a headline for each part with its faults below; nothing for a valid source. */
export function faultLines({ faults }: Plan): string[] {
  const parts = Map.groupBy(faults, ({ workspaces }) => partText(workspaces));
  return [...parts].flatMap(([part, all]) => {
    const hidden = all.length - listedFaultsMax;
    return [
      part,
      ...all.slice(0, listedFaultsMax).flatMap(({ fault }) => faultText(fault)),
      ...(hidden > 0 ? [`    … and ${hidden} more`] : []),
    ];
  });
}

function faultText({ position, message, fix }: HeldFault['fault']): string[] {
  const below = fix === undefined ? [] : [`      ${oneLine(fix)}`];
  return [`    ${oneLine(placeText(position))} ${oneLine(message)}`, ...below];
}

function partText(workspaces: HeldFault['workspaces']): string {
  if (workspaces.length === 0)
    return 'invalid, in unknown workspaces; nothing is deleted anywhere:';
  const parts = workspaces
    .slice(0, listedWorkspacesMax)
    .map((name) => (name === null ? 'the organisation’s own' : `workspace ${oneLine(name)}`));
  const hidden = workspaces.length - listedWorkspacesMax;
  const more = hidden > 0 ? ` and ${hidden} more` : '';
  return `invalid in ${parts.join(', ')}${more}; nothing there is applied:`;
}
