/** Knows how what lies in a source and is no manifest is told: counted, with the first names. */

import { oneLine } from '../../terminal-text.ts';
import type { Plan } from '../plan/planned.ts';
import { type Identity, identityKey, type LeftAlone } from '../resources/resource-set.ts';
import { yamlPath } from './yaml-path.ts';

const namesShownMax = 5;

/** Everything that a plan leaves alone. */
export function leftLines({ unmanaged, unknown, leftAlone, ignored }: Plan): string[] {
  return [
    ...ignoredLines(ignored),
    ...unmanagedLines(unmanaged),
    ...unknownLines(unknown),
    ...leftAloneLines(leftAlone),
  ];
}

/** A line for each cause; none where nothing was left alone. */
export function leftAloneLines(left: LeftAlone): string[] {
  const { ignored, foreignFiles: files, foreignDocuments: documents } = left;
  const causes: [readonly string[], string][] = [
    [
      files,
      files.length === 1
        ? 'file without manifests left alone'
        : 'files without manifests left alone',
    ],
    [
      documents,
      documents.length === 1 ? 'document of others left alone' : 'documents of others left alone',
    ],
    [ignored, 'left out by .gatewrightignore'],
    [left.otherEnvironments, 'of other environments left alone'],
  ];
  return causes
    .filter(([names]) => names.length > 0)
    .map(([names, what]) => `${names.length} ${what}: ${listed(names)}`);
}

/** Fields that others have changed and may; none where there is none. */
function ignoredLines(ignored: Plan['ignored']): string[] {
  const names = ignored
    .filter(({ differs }) => differs)
    .map(({ identity, path }) => `${identityKey(identity)} ${yamlPath(identity.kind, {}, path)}`);
  if (names.length === 0) return [];
  return [`of other tools by metadata.ignoreFields, left alone: ${listed(names)}`];
}

/** What nobody has declared, and how it becomes declared; none where there is nothing. */
function unmanagedLines(unmanaged: readonly Identity[]): string[] {
  if (unmanaged.length === 0) return [];
  const advice = 'to adopt: gatewright export DIR --unmanaged, then apply DIR --take-ownership';
  return [`unmanaged, left alone: ${listed(unmanaged.map(identityKey))} (${advice})`];
}

/** What a newer server has; none where it is of this version. */
export function unknownLines(unknown: readonly string[]): string[] {
  if (unknown.length === 0) return [];
  return [
    `of a newer server, left alone: ${listed(unknown)} (a newer gatewright knows ${unknown.length === 1 ? 'it' : 'them'})`,
  ];
}

/** The first names, and how many more there are. */
function listed(names: readonly string[]): string {
  const hidden = names.length - namesShownMax;
  const shown = names.slice(0, namesShownMax).map(oneLine).join(', ');
  return hidden > 0 ? `${shown} and ${hidden} more` : shown;
}
