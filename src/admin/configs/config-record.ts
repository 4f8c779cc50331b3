/** Converts configs to API records, list items and the body that would create them again. */
import { z } from 'zod';
import { configSecretsOf } from '../../auth/secret-documents.ts';
import { type ConfigDocument, ConfigStatus } from '../../model/configs/config.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { StoredConfig, StoredConfigVersion } from '../../store/resources/configs.ts';
import { constant, numericFlag, record, timestamp } from '../request/record.ts';
import type { SpecSecrets } from '../request/resource.ts';

/** List items have no content, which may be a megabyte. */
const item = record<Omit<StoredConfig, 'config' | 'version' | 'version_id'>>()({
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid().nullable(),
  is_default: numericFlag,
  status: ConfigStatus,
  owner_id: z.uuid(),
  updated_by: z.uuid(),
  created_at: timestamp,
  last_updated_at: timestamp,
  object: constant('config'),
});

export const ConfigListItem = item.schema;
export const configListColumns = item.columns;
export const configToListItem = item.toRecord;

/** Response of get. `config` is JSON text with masked secrets. */
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

export function configToRecord(row: StoredConfig): z.infer<typeof ConfigRecord> {
  return {
    ...configToListItem(row),
    config: maskedText(row.config),
    format: 'json',
    type: 'ORG_CONFIG',
    version_id: row.version_id,
  };
}

/** Returns the text itself when the document contains no secrets. */
function maskedText(stored: string): string {
  const document = JSON.parse(stored) as ConfigDocument;
  const masked = configSecretsOf.mask(document);
  return masked === document ? stored : JSON.stringify(masked);
}

/** One version of the config, with the name and content of that version. */
export function configToVersionRecord(
  row: StoredConfig,
  version: StoredConfigVersion,
): z.infer<typeof ConfigVersionRecord> {
  return {
    ...configToRecord(row),
    name: version.name,
    config: maskedText(version.config),
    version_id: version.id,
    version_created_at: formatTimestamp(version.created_at),
    version_owner_id: version.created_by,
  };
}

/** The body that would create this config; sync compares it with its manifests. */
export function configToSpec(
  row: StoredConfig,
  { unsealer, fingerprintKey }: SpecSecrets,
): Record<string, unknown> {
  const stored = JSON.parse(row.config) as ConfigDocument;
  return {
    name: row.name,
    slug: row.slug,
    config: configSecretsOf.fingerprint(unsealer, fingerprintKey, row.id, stored),
    isDefault: row.is_default === 0 ? 0 : 1,
    ...(row.workspace_id === null ? {} : { workspace_id: row.workspace_id }),
  };
}
