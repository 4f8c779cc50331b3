/**
 * Distributes exported manifests over files within the limits of a source, under portable names.
 */
import { kindNames, kinds } from '../../model/kinds/kinds.ts';
import type { Identity } from '../resources/resource-set.ts';
import { fileBytesMax, isIgnoredName } from '../source/source-files.ts';

export interface ExportedDocument {
  readonly identity: Identity;
  readonly text: string;
}

export interface ExportedFile {
  /** Relative to the export folder: `support/api-keys.yaml`. */
  readonly path: string;
  readonly text: string;
  readonly resources: number;
}

const separator = '---\n';
const externalsName = 'externals';
/** Well below the limit of a source, so that the files remain readable and can grow. */
const fileBytesWanted = fileBytesMax / 2;
const documentsPerFileMax = 1_000;

/** Returns whether a single document exceeds the file size limit of a source. */
export function isTooLarge(text: string): boolean {
  return Buffer.byteLength(text) > fileBytesMax;
}

/** Returns one file for each kind in each workspace, or more where one would be too large. */
export function filesOf(
  documents: readonly ExportedDocument[],
  externals: readonly ExportedDocument[],
): ExportedFile[] {
  const folders = new FolderNames();
  const groups = Map.groupBy(documents, ({ identity: { kind, workspace } }) => {
    const { plural } = kinds[kind];
    return workspace === null ? plural : `${folders.of(workspace)}/${plural}`;
  });
  if (externals.length > 0) groups.set(externalsName, [...externals]);
  return [...groups].flatMap(([stem, group]) =>
    portionsOf(group).map((portion, at) => ({
      path: at === 0 ? `${stem}.yaml` : `${stem}-${at + 1}.yaml`,
      text: portion.map(({ text }) => text).join(separator),
      resources: portion.length,
    })),
  );
}

function portionsOf(documents: readonly ExportedDocument[]): ExportedDocument[][] {
  const portions: ExportedDocument[][] = [];
  let bytes = 0;
  for (const document of documents) {
    const size = Buffer.byteLength(document.text) + separator.length;
    const last = portions.at(-1);
    if (
      last === undefined ||
      last.length >= documentsPerFileMax ||
      bytes + size > fileBytesWanted
    ) {
      portions.push([document]);
      bytes = size;
    } else {
      last.push(document);
      bytes += size;
    }
  }
  return portions;
}

/** Folder names of workspaces; workspace names may differ in case only, or equal reserved names. */
class FolderNames {
  readonly #byWorkspace = new Map<string, string>();
  readonly #taken = new Set(
    [...kindNames.map((kind) => kinds[kind].plural), externalsName].map((stem) => `${stem}.yaml`),
  );

  of(workspace: string): string {
    const known = this.#byWorkspace.get(workspace);
    if (known !== undefined) return known;
    let name = workspace;
    for (let next = 2; this.#taken.has(name.toLowerCase()) || isIgnoredName(name); next += 1) {
      name = `${workspace}-${next}`;
    }
    this.#taken.add(name.toLowerCase());
    this.#byWorkspace.set(workspace, name);
    return name;
  }
}
