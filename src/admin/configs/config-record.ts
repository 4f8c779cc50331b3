/** Converts configs to API records, list items and the body that would create them again. */
import { z } from 'zod';
import { ConfigStatus } from '../../model/configs/config.ts';
import { Flag } from '../../model/wire/resource-fields.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { StoredConfig, StoredConfigVersion } from '../../store/resources/configs.ts';

/** Items of the list. */
export const ConfigListItem = z.object({
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid().nullable(),
  /** An integer, because clients of this API cannot parse a boolean here. */
  is_default: Flag,
  status: ConfigStatus,
  owner_id: z.uuid(),
  updated_by: z.uuid(),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  object: z.literal('config'),
});

/** Response of get. `config` is JSON text. */
export const ConfigRecord = ConfigListItem.extend({
  config: z.string(),
  format: z.literal('json'),
  type: z.literal('ORG_CONFIG'),
  version_id: z.uuid(),
});

export const ConfigVersionRecord = ConfigRecord.extend({
  version_created_at: ResponseTimestamp,
  version_owner_id: z.uuid(),
});

/** Columns of a list item; without the content, which may be a megabyte. */
export const configListColumns = [
  'id',
  'name',
  'slug',
  'organisation_id',
  'workspace_id',
  'is_default',
  'status',
  'owner_id',
  'updated_by',
  'created_at',
  'last_updated_at',
] as const satisfies readonly (keyof StoredConfig)[];

export function configToListItem(
  row: Pick<StoredConfig, (typeof configListColumns)[number]>,
): z.infer<typeof ConfigListItem> {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    is_default: row.is_default === 0 ? 0 : 1,
    status: row.status,
    owner_id: row.owner_id,
    updated_by: row.updated_by,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    object: 'config',
  };
}

export function configToRecord(row: StoredConfig): z.infer<typeof ConfigRecord> {
  return {
    ...configToListItem(row),
    config: row.config,
    format: 'json',
    type: 'ORG_CONFIG',
    version_id: row.version_id,
  };
}

/** One version of the config, with the name and content of that version. */
export function configToVersionRecord(
  row: StoredConfig,
  version: StoredConfigVersion,
): z.infer<typeof ConfigVersionRecord> {
  return {
    ...configToRecord(row),
    name: version.name,
    config: version.config,
    version_id: version.id,
    version_created_at: formatTimestamp(version.created_at),
    version_owner_id: version.created_by,
  };
}

/** The body that would create this config; sync compares it with its manifests. */
export function configToSpec(row: StoredConfig): Record<string, unknown> {
  return {
    name: row.name,
    config: JSON.parse(row.config),
    isDefault: row.is_default === 0 ? 0 : 1,
    ...(row.workspace_id === null ? {} : { workspace_id: row.workspace_id }),
  };
}
