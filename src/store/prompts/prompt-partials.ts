/** Table functions for prompt_partials: the published versions of templates that prompts include. */
import { type Selectable, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { resourceTable } from '../rows/resource-table.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { contentsOf, heldIdBytes } from '../rows/workspace-contents.ts';
import * as promptVersions from './prompt-versions.ts';

interface PromptPartialRow extends VersionColumns {
  id: string;
  organisation_id: string;
  /** Null for partials that prompts of every workspace can include. */
  workspace_id: string | null;
  slug: string;
  name: string;
  status: 'active' | 'archived';
  /** PartialContent of the published version, as JSON. */
  content: string;
  version_id: string;
  version_number: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    prompt_partials: PromptPartialRow;
  }
}

/** A partial as stored. */
export type StoredPromptPartial = Selectable<PromptPartialRow>;

const table = resourceTable('prompt_partials');

export const {
  insert,
  findByIdOrSlug,
  findByIdOrSlugForUpdate,
  list,
  listAllForOrganisation,
  update,
} = table;

/** Includes its versions. */
export const contents = contentsOf('PromptPartial', 'prompt_partials', (at) => [
  sql`delete from prompt_versions where organisation_id = ${at.organisationId}
    and resource_id in ${heldIdBytes('prompt_partials', at)}`,
]);

/** Columns of list items, without the content. */
export const listedColumns = [
  'id',
  'workspace_id',
  'slug',
  'name',
  'status',
  'created_at',
  'last_updated_at',
] as const;

/** Deletes a partial with its versions. */
export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await promptVersions.deleteVersions(tx, organisationId, id);
  await table.deleteById(tx, organisationId, id);
}
