/** Table functions for prompt_labels: names for prompt versions, in a workspace or the whole organisation. */
import type { Insertable, Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';
import { resourceTable } from '../rows/resource-table.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { contentsOf } from '../rows/workspace-contents.ts';

interface PromptLabelRow extends VersionColumns {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  /** The workspace, or '' for the organisation; part of the unique key of the name. */
  place: string;
  name: string;
  description: string | null;
  color_code: string | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    prompt_labels: PromptLabelRow;
  }
}

/** A label as stored. */
export type StoredPromptLabel = Selectable<PromptLabelRow>;

const table = resourceTable('prompt_labels', { hasSlug: false });

export const {
  findById,
  findByIdForUpdate,
  listMatching,
  listAllForOrganisation,
  update,
  deleteById,
} = table;

export const contents = contentsOf('PromptLabel', 'prompt_labels');

/** Throws errno 1062 when the workspace or organisation has a label of this name. */
export function insert(
  tx: Db,
  row: Omit<Insertable<PromptLabelRow>, 'place'> & { readonly workspace_id: string | null },
): Promise<void> {
  return table.insert(tx, { ...row, place: row.workspace_id ?? '' });
}

/** The label of a name that applies to a workspace's prompts; the workspace's own label comes first. */
export function findByName(
  db: Db,
  { organisation_id, workspace_id }: Pick<StoredPromptLabel, 'organisation_id' | 'workspace_id'>,
  name: string,
): Promise<StoredPromptLabel | undefined> {
  const where = { organisation_id, place: ['', workspace_id ?? ''], name };
  return table.rows.findFirst(db, where, { orderBy: ['place desc'] });
}
