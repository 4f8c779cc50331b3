/** Table functions for prompts: the published versions of templates with their model parameters. */
import { type Selectable, sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import { nameOrSlugContains, resourceTable } from '../rows/resource-table.ts';
import { stampOf } from '../rows/snapshot-marks.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { contentsOf, heldIdBytes } from '../rows/workspace-contents.ts';
import * as promptVersions from './prompt-versions.ts';

interface PromptRow extends VersionColumns {
  id: string;
  organisation_id: string;
  workspace_id: string;
  collection_id: string;
  slug: string;
  name: string;
  /** Model of the published version, for lists. */
  model: string | null;
  /** PromptContent of the published version, as JSON. */
  content: string;
  version_id: string;
  version_number: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    prompts: PromptRow;
  }
}

/** A prompt as stored. */
export type StoredPrompt = Selectable<PromptRow>;

const table = resourceTable('prompts');

export const { insert, findByIdOrSlug, findByIdOrSlugForUpdate, listAllForOrganisation, update } =
  table;

/** Includes its versions. */
export const contents = contentsOf('Prompt', 'prompts', (at) => [
  sql`delete from prompt_versions where organisation_id = ${at.organisationId}
    and resource_id in ${heldIdBytes('prompts', at)}`,
]);

/** Columns of list items, without the content. */
const listedColumns = [
  'id',
  'workspace_id',
  'collection_id',
  'slug',
  'name',
  'model',
  'created_at',
  'last_updated_at',
] as const;

export interface PromptFilter {
  readonly workspaceId: string | undefined;
  readonly collectionId: string | undefined;
  /** Part of the name or slug, in any case. */
  readonly search: string | undefined;
}

/** Newest first. */
export async function list(
  db: Db,
  organisationId: string,
  { workspaceId, collectionId, search }: PromptFilter,
  page: Page,
): Promise<{ rows: Omit<StoredPrompt, 'content'>[]; total: number }> {
  const query = table.rows
    .matching(db, {
      organisation_id: organisationId,
      workspace_id: workspaceId,
      collection_id: collectionId,
    })
    .$if(search !== undefined, (all) => all.where(nameOrSlugContains(search!)));
  return listPage({ db, stamp: stampOf('prompts', organisationId) }, query, page, listedColumns);
}

/** Deletes a prompt with its versions. */
export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await promptVersions.deleteVersions(tx, organisationId, id);
  await table.deleteById(tx, organisationId, id);
}
