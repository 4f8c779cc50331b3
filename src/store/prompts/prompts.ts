/** Knows the prompts table: templates with what goes to the model beside them, as published. */
import { type Selectable, sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import { nameOrSlugContains, resourceTable } from '../rows/resource-table.ts';
import { stampOf } from '../rows/snapshot-marks.ts';
import type { Versioned } from '../rows/versioned.ts';
import { contentsOf, heldIdBytes } from '../rows/workspace-contents.ts';
import * as promptVersions from './prompt-versions.ts';

interface PromptRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string;
  collection_id: string;
  slug: string;
  name: string;
  /** Of the published version, for lists. */
  model: string | null;
  /** Of the published version: a PromptContent as JSON. */
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

/** With its versions. */
export const contents = contentsOf('Prompt', 'prompts', (at) => [
  sql`delete from prompt_versions where organisation_id = ${at.organisationId}
    and resource_id in ${heldIdBytes('prompts', at)}`,
]);

/** What an item of the list is made of: not the content. */
const listedColumns = [
  ...['id', 'workspace_id', 'collection_id', 'slug', 'name', 'model', 'created_at'],
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
  const query = db
    .selectFrom('prompts')
    .where('organisation_id', '=', organisationId)
    .$if(workspaceId !== undefined, (rows) => rows.where('workspace_id', '=', workspaceId!))
    .$if(collectionId !== undefined, (rows) => rows.where('collection_id', '=', collectionId!))
    .$if(search !== undefined, (rows) => rows.where(nameOrSlugContains(search!)));
  return listPage({ db, stamp: stampOf('prompts', organisationId) }, query, page, listedColumns);
}

/** Takes its versions with it. */
export async function deleteById(tx: Db, organisationId: string, id: string): Promise<void> {
  await promptVersions.deleteVersions(tx, organisationId, id);
  await table.deleteById(tx, organisationId, id);
}
