/** Reads a manifest of a stored source, changes it, and plans the change; runs in a thread of its own. */
import type { Snapshot } from '../../model/kinds/snapshot.ts';
import { unpackSource } from '../../model/kinds/sync-source.ts';
import { isForeignHeading } from '../../sync/manifest/document-owner.ts';
import { isEncryptedFile } from '../../sync/manifest/encrypted-files.ts';
import { type Identity, identityKey } from '../../sync/resources/resource-set.ts';
import { fileBytesMax, type SourceFile, type SourceFiles } from '../../sync/source/source-files.ts';
import { readDocuments } from '../../sync/yaml/yaml-document.ts';
import { type ChangeFault, planChange, readWithoutValues, type ShortPlan } from './change-plan.ts';
import { type ManifestSlice, sliceAt, withSlice } from './manifest-text.ts';
import { patchOf } from './patch.ts';
import { withSpec } from './spec-edit.ts';
import { filesOfCopy, withText } from './stored-files.ts';

export interface PlanningTask {
  /** The packed copy of the source. */
  readonly packed: string;
  readonly owner: string;
  readonly identity: Identity;
  /** Where the manifest was applied from, for a manifest that cannot be read now. */
  readonly place: { readonly path: string; readonly line: number } | null;
  /** Null reads the manifest only. */
  readonly change: ManifestChange | null;
}

interface ManifestChange {
  /** The new text of the document, or the new spec in the field names of manifests. */
  readonly manifest: string | null;
  readonly spec: unknown;
  /** Folder of the source in the repository, for the patch; '' for none. */
  readonly folder: string;
  /** JSON of the snapshot. */
  readonly snapshot: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface ReadManifest {
  readonly path: string;
  readonly line: number;
  /** The document of the manifest. */
  readonly manifest: string;
}

export interface ChangedManifest extends ReadManifest {
  /** Texts of the whole file. */
  readonly before: string;
  readonly after: string;
  readonly patch: string;
  readonly plan: ShortPlan | null;
  readonly faults: readonly ChangeFault[];
}

/** `invalid`: the change cannot be made. `missing`: the stored source has no such manifest. */
interface PlanningProblem {
  readonly problem: 'invalid' | 'missing';
  readonly message: string;
}

export type PlanningResult = ReadManifest | ChangedManifest | PlanningProblem;

export async function planTask(task: PlanningTask): Promise<PlanningResult> {
  const copy = await unpackSource(task.packed);
  if (copy === null) return missing('the stored source cannot be read');
  const files = filesOfCopy(copy);
  const base = await readWithoutValues(files);
  const key = identityKey(task.identity);
  const position = base.set.resources.find(
    ({ identity }) => identityKey(identity) === key,
  )?.position;
  const place = position === undefined ? task.place : { path: position.file, line: position.line };
  const file = files.files.find(({ path }) => path === place?.path);
  if (place === null || file === undefined) return missing(`${key} is in no file of the source`);
  const before = file.content.toString('utf8');
  const slice = sliceAt(before, place.line);
  if (slice === null) return missing(`${key} is no longer at line ${place.line} of ${place.path}`);
  const read = { ...place, manifest: slice.text };
  if (task.change === null) return read;
  const changed = changedFile(task, task.change, { file, before, slice });
  if ('problem' in changed) return changed;
  const head = await readWithoutValues(withText(files, place.path, changed.after));
  const { snapshot, now, folder } = task.change;
  const outcome = planChange({
    base,
    head,
    path: place.path,
    owner: task.owner,
    snapshot: JSON.parse(snapshot) as Snapshot,
    now,
  });
  const inRepository = folder === '' ? place.path : `${folder}/${place.path}`;
  const patch = patchOf(inRepository, before, changed.after);
  return { ...read, manifest: changed.manifest, before, after: changed.after, patch, ...outcome };
}

interface FilePart {
  readonly file: SourceFiles['files'][number];
  readonly before: string;
  readonly slice: ManifestSlice;
}

function changedFile(
  { identity }: PlanningTask,
  { manifest, spec }: ManifestChange,
  { file, before, slice }: FilePart,
): { readonly manifest: string; readonly after: string } | PlanningProblem {
  if (isSealed(file)) {
    return invalid(
      `${file.path} is encrypted: change it with sops, and open the pull request by hand`,
    );
  }
  const text = manifest ?? withSpec(slice.text, identity, spec);
  if (text === null) {
    return invalid('the spec cannot be written into this manifest: send the text of the manifest');
  }
  const after = withSlice(before, slice, text);
  if (Buffer.byteLength(after) > fileBytesMax) {
    return invalid(`${file.path} would have more than ${fileBytesMax} bytes`);
  }
  return { manifest: text, after };
}

function isSealed(file: SourceFile): boolean {
  return isEncryptedFile(readDocuments(file, isForeignHeading).documents);
}

function missing(message: string): PlanningProblem {
  return { problem: 'missing', message };
}

function invalid(message: string): PlanningProblem {
  return { problem: 'invalid', message };
}
