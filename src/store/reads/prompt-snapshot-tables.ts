/** Lists the tables of prompts that a sealed snapshot contains, with their columns. */
import type { Tables } from '../connection/db.ts';
// Each of these files declares the row types of its tables.
import type {} from '../prompts/prompt-labels.ts';
import type {} from '../prompts/prompt-partials.ts';
import type {} from '../prompts/prompt-versions.ts';
import type {} from '../prompts/prompts.ts';
import { byId, type SnapshotTable, tenant } from './snapshot-table.ts';

export const promptSnapshotTables = {
  prompts: {
    columns: [
      'id',
      'organisation_id',
      'workspace_id',
      'collection_id',
      'slug',
      'name',
      'model',
      'content',
      'version_id',
      'version_number',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: [],
    ...byId,
  },
  prompt_versions: {
    columns: [
      'organisation_id',
      'resource_id',
      'number',
      'id',
      'name',
      'content',
      'label_id',
      'created_by',
      'created_at',
    ],
    omitted: [],
    key: ['resource_id', 'number'],
    partBy: 'resource_id',
    tenant,
  },
  prompt_labels: {
    columns: [
      'id',
      'organisation_id',
      'workspace_id',
      'place',
      'name',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: ['description', 'color_code'],
    ...byId,
  },
  prompt_partials: {
    columns: [
      'id',
      'organisation_id',
      'workspace_id',
      'slug',
      'name',
      'status',
      'content',
      'version_id',
      'version_number',
      'version',
      'created_at',
      'last_updated_at',
    ],
    omitted: [],
    ...byId,
  },
} as const satisfies { readonly [T in keyof Tables]?: SnapshotTable<T> };
