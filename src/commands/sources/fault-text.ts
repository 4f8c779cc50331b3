/** Formats faults in manifests for people and as annotations of a GitHub workflow. */

import {
  noteText,
  type Position,
  placeText,
  relationText,
} from '../../sync/resources/resource-set.ts';
import type { SourceFault } from '../../sync/source/source-files.ts';
import { oneLine } from '../../terminal-text.ts';

/** Maximum number of faults printed; the total is printed too. */
const printedFaultsMax = 200;
/** Maximum number of further positions printed for one fault. */
const printedPositionsMax = 5;

/** The same fault at one or more positions, such as all references to a missing workspace. */
export interface FaultGroup {
  /** The fault at its first position. */
  readonly fault: SourceFault;
  /** All positions, including the first, in order. */
  readonly places: readonly Position[];
}

/** Groups faults with the same message, in the order of their first positions. */
export function groupFaults(faults: readonly SourceFault[]): FaultGroup[] {
  const groups = Map.groupBy(faults, ({ code, message, fix }) =>
    JSON.stringify([code, message, fix]),
  );
  return [...groups.values()].map((same) => ({
    fault: same[0]!,
    places: uniquePositions(same.map(({ position }) => position)),
  }));
}

/** Removes duplicates: a fault in folder defaults appears once for every manifest. */
function uniquePositions(places: readonly Position[]): Position[] {
  const byPlace = places.map(
    (place) => [placeText({ ...place, related: undefined }), place] as const,
  );
  return [...new Map(byPlace.toReversed()).values()].toReversed();
}

/** `file:line:column message`, the fix and other positions below it, and a total at the end. */
export function formatFaults(faults: readonly SourceFault[]): string {
  const groups = groupFaults(faults);
  const lines = groups.slice(0, printedFaultsMax).flatMap((group) => {
    const { position, message, fix } = group.fault;
    const below = [fix, ...alsoAt(group)].flatMap((text) => text ?? []);
    return [`${positionText(position)} ${message}`, ...below.map((text) => `    ${text}`)];
  });
  const hidden = groups.length - printedFaultsMax;
  if (hidden > 0) lines.push(`… and ${hidden} more`);
  const files = new Set(faults.map(({ position }) => position.file)).size;
  const count = groups.reduce((sum, { places }) => sum + places.length, 0);
  const repeated = count > groups.length ? ` at ${count} places` : '';
  const total = counted(groups.length, 'fault') + repeated;
  lines.push('', `${total} in ${counted(files, 'file')}`);
  return `${lines.join('\n')}\n`;
}

/** One line each: `warning: file:line:column: message; fix`. */
export function formatWarnings(warnings: readonly SourceFault[]): string {
  return warnings.map((note) => `warning: ${oneLine(noteText(note))}\n`).join('');
}

/** One `::error` or `::warning` command for each fault. */
export function formatGithubFaults(
  faults: readonly SourceFault[],
  level: 'error' | 'warning' = 'error',
): string {
  return groupFaults(faults)
    .map((group) => {
      const { position, code, message, fix } = group.fault;
      const { file, line, column, related = [] } = position;
      const place = `file=${property(file)},line=${line},col=${column},title=${property(code)}`;
      const text = [message, fix, ...related.map(relationText), ...alsoAt(group)]
        .flatMap((part) => part ?? [])
        .join('\n');
      return `::${level} ${place}::${data(text)}\n`;
    })
    .join('');
}

/** `also at a.yaml:3:5, b.yaml:1:1 and 8 more places`; empty without further positions. */
function alsoAt({ places }: FaultGroup): string[] {
  const others = places.slice(1);
  if (others.length === 0) return [];
  const hidden = others.length - printedPositionsMax;
  const printed = others.slice(0, printedPositionsMax).map(positionText).join(', ');
  return [`also at ${printed}${hidden > 0 ? ` and ${counted(hidden, 'more place')}` : ''}`];
}

function positionText(position: Position): string {
  return oneLine(placeText(position));
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
