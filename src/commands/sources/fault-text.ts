/** Knows how faults in manifests are shown: to people, and as annotations of a GitHub workflow. */

import {
  noteText,
  type Position,
  placeText,
  relationText,
} from '../../sync/resources/resource-set.ts';
import type { SourceFault } from '../../sync/source/source-files.ts';
import { oneLine } from '../../terminal-text.ts';

/** More faults than this help nobody; the count says how many there are. */
const faultsShownMax = 200;
/** Of one fault at many places. */
const placesShownMax = 5;

/** The same mistake at one or more places: one Workspace that is missing, say, and all that names it. */
export interface FaultGroup {
  /** At its first place. */
  readonly fault: SourceFault;
  /** All of them, the first included, in their order. */
  readonly places: readonly Position[];
}

/** Faults that say the same, as one, in the order of their first places. */
export function groupFaults(faults: readonly SourceFault[]): FaultGroup[] {
  const groups = Map.groupBy(faults, ({ code, message, fix }) =>
    JSON.stringify([code, message, fix]),
  );
  return [...groups.values()].map((same) => ({
    fault: same[0]!,
    places: apart(same.map(({ position }) => position)),
  }));
}

/** The defaults of a folder are wrong once, for however many manifests. */
function apart(places: readonly Position[]): Position[] {
  const byPlace = places.map(
    (place) => [placeText({ ...place, related: undefined }), place] as const,
  );
  return [...new Map(byPlace.toReversed()).values()].toReversed();
}

/** `file:line:column message`, the fix and other places below it, and a count at the end. */
export function formatFaults(faults: readonly SourceFault[]): string {
  const groups = groupFaults(faults);
  const lines = groups.slice(0, faultsShownMax).flatMap((group) => {
    const { position, message, fix } = group.fault;
    const below = [fix, ...alsoAt(group)].flatMap((text) => text ?? []);
    return [`${shownPlace(position)} ${message}`, ...below.map((text) => `    ${text}`)];
  });
  const hidden = groups.length - faultsShownMax;
  if (hidden > 0) lines.push(`… and ${hidden} more`);
  const files = new Set(faults.map(({ position }) => position.file)).size;
  const count = groups.reduce((sum, { places }) => sum + places.length, 0);
  const repeated = count > groups.length ? ` at ${count} places` : '';
  const total = counted(groups.length, 'fault') + repeated;
  lines.push('', `${total} in ${counted(files, 'file')}`);
  return `${lines.join('\n')}\n`;
}

/** A line each: `warning: file:line:column: message; fix`. */
export function formatWarnings(warnings: readonly SourceFault[]): string {
  return warnings.map((note) => `warning: ${oneLine(noteText(note))}\n`).join('');
}

/** One `::error` command a fault, or `::warning`. */
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

/** `also at a.yaml:3:5, b.yaml:1:1 and 8 more places`, where there are others. */
function alsoAt({ places }: FaultGroup): string[] {
  const others = places.slice(1);
  if (others.length === 0) return [];
  const hidden = others.length - placesShownMax;
  const shown = others.slice(0, placesShownMax).map(shownPlace).join(', ');
  return [`also at ${shown}${hidden > 0 ? ` and ${counted(hidden, 'more place')}` : ''}`];
}

function shownPlace(position: Position): string {
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
