/** Knows the prompt_labels table: names that versions of prompts bear, of a workspace or of the whole organisation. */
import { type Insertable, type Selectable, sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import { resourceTable } from '../rows/resource-table.ts';
import { stampOf } from '../rows/snapshot-marks.ts';
import type { Versioned } from '../rows/versioned.ts';
import { contentsOf } from '../rows/workspace-contents.ts';

interface PromptLabelRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  /** The workspace again, or '' for the organisation: a name is unique there. */
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

const table = resourceTable('prompt_labels');

export const { findById, findByIdForUpdate, listAllForOrganisation, update, deleteById } = table;

export const contents = contentsOf('PromptLabel', 'prompt_labels');

/** Throws errno 1062 for a name that is taken where it is to be. */
export function insert(
  tx: Db,
  row: Omit<Insertable<PromptLabelRow>, 'place'> & { readonly workspace_id: string | null },
): Promise<void> {
  return table.insert(tx, { ...row, place: row.workspace_id ?? '' });
}

/** Newest first. With a workspace, those that its prompts can bear. */
export function list(
  db: Db,
  organisationId: string,
  { workspaceId, search }: { readonly workspaceId?: string; readonly search?: string },
  page: Page,
): Promise<{ rows: StoredPromptLabel[]; total: number }> {
  const query = db
    .selectFrom('prompt_labels')
    .where('organisation_id', '=', organisationId)
    .$if(workspaceId !== undefined, (rows) => rows.where('place', 'in', ['', workspaceId!]))
    .$if(search !== undefined, (rows) =>
      rows.where(sql<boolean>`locate(lower(cast(${search} as char)), lower(name)) > 0`),
    );
  return listPage({ db, stamp: stampOf('prompt_labels', organisationId) }, query, page);
}

/** Of that name, where a prompt of the workspace looks for it: there first. */
export async function findByName(
  db: Db,
  { organisation_id, workspace_id }: Pick<StoredPromptLabel, 'organisation_id' | 'workspace_id'>,
  name: string,
): Promise<StoredPromptLabel | undefined> {
  const rows = await db
    .selectFrom('prompt_labels')
    .selectAll()
    .where('organisation_id', '=', organisation_id)
    .where('place', 'in', ['', workspace_id ?? ''])
    .where('name', '=', name)
    .orderBy('place', 'desc')
    .execute();
  return rows[0];
}
