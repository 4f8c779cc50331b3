/** Describes what the sync leaves alone: counts with the first names. */

import { oneLine } from '../../terminal-text.ts';
import type { Plan } from '../plan/plan-model.ts';
import { type Identity, identityKey, type LeftAlone } from '../resources/resource-set.ts';
import { yamlPath } from './yaml-path.ts';

const listedNamesMax = 5;

/** Everything that a plan leaves alone. */
export function leftLines({ unmanaged, unknown, leftAlone, ignored }: Plan): string[] {
  return [
    ...ignoredLines(ignored),
    ...unmanagedLines(unmanaged),
    ...unknownLines(unknown),
    ...leftAloneLines(leftAlone),
  ];
}

/** Returns a line for each cause; none when nothing was left alone. */
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
      documents.length === 1
        ? 'document of other programs left alone'
        : 'documents of other programs left alone',
    ],
    [ignored, 'left out by .gatewrightignore'],
    [left.otherEnvironments, 'of other environments left alone'],
  ];
  return causes
    .filter(([names]) => names.length > 0)
    .map(([names, what]) => `${names.length} ${what}: ${listed(names)}`);
}

/** Describes ignored fields that others have changed; none when there are none. */
function ignoredLines(ignored: Plan['ignored']): string[] {
  const names = ignored
    .filter(({ differs }) => differs)
    .map(({ identity, path }) => `${identityKey(identity)} ${yamlPath(identity.kind, {}, path)}`);
  if (names.length === 0) return [];
  return [`left to other tools by metadata.ignoreFields: ${listed(names)}`];
}

/** Describes unmanaged resources and how to adopt them; none when there are none. */
function unmanagedLines(unmanaged: readonly Identity[]): string[] {
  if (unmanaged.length === 0) return [];
  const advice = 'to adopt: gatewright export DIR --unmanaged, then apply DIR --take-ownership';
  return [`unmanaged, left alone: ${listed(unmanaged.map(identityKey))} (${advice})`];
}

/** Describes parts of a newer server; none for a server of this version. */
export function unknownLines(unknown: readonly string[]): string[] {
  if (unknown.length === 0) return [];
  return [
    `of a newer server, left alone: ${listed(unknown)} (a newer gatewright knows ${unknown.length === 1 ? 'it' : 'them'})`,
  ];
}

/** Lists the first names and the number of the others. */
function listed(names: readonly string[]): string {
  const hidden = names.length - listedNamesMax;
  const first = names.slice(0, listedNamesMax).map(oneLine).join(', ');
  return hidden > 0 ? `${first} and ${hidden} more` : first;
}
