/** Finds prompts, partials and their versions in a snapshot. */
import { idToBytes } from '../../model/wire/ids.ts';
import { isUuid } from '../../model/wire/slug-forms.ts';
import type { PromptSource } from './prompt-reads.ts';
import { findByReference } from './snapshot-joins.ts';
import type { SnapshotRow } from './snapshot-tables.ts';
import type { OrganisationView } from './snapshot-view.ts';

export function snapshotPrompts(view: OrganisationView): PromptSource {
  return {
    findPrompt: async (reference) => findByReference(view, 'prompts', reference),
    findPartial: async (reference) => findByReference(view, 'prompt_partials', reference),
    findVersion: async (of, version) => findVersion(view, of, version),
  };
}

/** Finds a version in the snapshot by the same names as `find` of store/prompts/prompt-versions.ts does in the database. */
function findVersion(
  view: OrganisationView,
  of: Parameters<PromptSource['findVersion']>[0],
  version: string,
): SnapshotRow<'prompt_versions'> | undefined {
  const versions = view.rows('prompt_versions', 'resource_id', idToBytes(of.id));
  if (version === 'latest') return newest(versions);
  if (isUuid(version)) {
    const id = idToBytes(version);
    return versions.find((row) => row.id.equals(id));
  }
  if (version === 'default' || /^\d{1,9}$/.test(version)) {
    const number = version === 'default' ? of.version_number : Number(version);
    return versions.find((row) => row.number === number);
  }
  if (!/^[\w-]{1,255}$/.test(version)) return undefined;
  const label = findLabel(view, of.workspace_id ?? '', version);
  return label && versions.find((row) => row.label_id === label.id);
}

function newest(
  versions: readonly SnapshotRow<'prompt_versions'>[],
): SnapshotRow<'prompt_versions'> | undefined {
  return versions.reduce<SnapshotRow<'prompt_versions'> | undefined>(
    (last, row) => (last === undefined || row.number > last.number ? row : last),
    undefined,
  );
}

/** A label of the workspace takes precedence over one of the organisation, whose place is ''. */
function findLabel(
  view: OrganisationView,
  workspaceId: string,
  name: string,
): SnapshotRow<'prompt_labels'> | undefined {
  const labels = view.rows('prompt_labels', 'name', name);
  const at = (wanted: string) => labels.find(({ place }) => place === wanted);
  return at(workspaceId) ?? at('');
}
