/** Converts secret references to API records and to the body that would create them again. */
import { z } from 'zod';
import { authSecretLocations } from '../../auth/reference-secrets.ts';
import { fingerprintSecrets } from '../../auth/secret-values.ts';
import { allowedHostsOf } from '../../model/secrets/allowed-hosts.ts';
import { authSecrets, maskedPrefix, secretMask } from '../../model/secrets/secret-fields.ts';
import { type AuthConfig, ManagerType } from '../../model/secrets/secret-manager.ts';
import { JsonRecord, omitNulls, readDocument } from '../../model/wire/json-record.ts';
import type {
  ListedSecretReference,
  SecretReferenceWithWorkspaces,
} from '../../store/resources/secret-references.ts';
import { constant, document, flag, record, timestamp } from '../request/record.ts';
import type { SpecSecrets } from '../request/resource.ts';

const item = record<ListedSecretReference>()({
  id: z.uuid(),
  organisation_id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  description: z.string().nullable(),
  manager_type: ManagerType,
  secret_key: z.string().nullable(),
  allow_all_workspaces: flag,
  tags: document(JsonRecord),
  status: constant('ACTIVE'),
  created_by: z.string(),
  created_at: timestamp,
  last_updated_at: timestamp,
  object: constant('secret-reference'),
});

/** Items of the list. */
export const SecretReferenceItem = item.schema;
export const secretReferenceToItem = item.toRecord;

/** Response of get. */
export const SecretReferenceRecord = SecretReferenceItem.extend({
  secret_path: z.string(),
  /** Absent when all or no workspaces may use it, because clients with strict schemas do not know the field. */
  allowed_workspaces: z.array(z.uuid()).optional(),
  /** Absent when empty, for the same reason. */
  allowed_hosts: z.array(z.string()).optional(),
  auth_config: z.record(z.string(), z.string()),
});

/** Contains no secret. */
export function secretReferenceToRecord(
  row: SecretReferenceWithWorkspaces,
): z.infer<typeof SecretReferenceRecord> {
  const fields = Object.entries(readAuth(row)).map(([name, value]) =>
    authSecrets.includes(name) ? [`${maskedPrefix}${name}`, secretMask] : [name, String(value)],
  );
  const hosts = allowedHostsOf(row) ?? [];
  return {
    ...secretReferenceToItem(row),
    secret_path: row.secret_path,
    ...(row.workspaceIds.length > 0 && { allowed_workspaces: [...row.workspaceIds] }),
    ...(hosts.length > 0 && { allowed_hosts: [...hosts] }),
    auth_config: Object.fromEntries(fields),
  };
}

/**
 * The body that would create this reference, without absent fields; secrets are replaced by fingerprints.
 */
export function secretReferenceToSpec(
  row: SecretReferenceWithWorkspaces,
  { unsealer, fingerprintKey }: SpecSecrets,
): Record<string, unknown> {
  return omitNulls({
    name: row.name,
    slug: row.slug,
    manager_type: row.manager_type,
    auth_config: fingerprintSecrets(
      unsealer,
      fingerprintKey,
      authSecretLocations(row.id),
      readAuth(row),
    ),
    secret_path: row.secret_path,
    secret_key: row.secret_key,
    description: row.description,
    allow_all_workspaces: row.allow_all_workspaces !== 0,
    allowed_workspaces: row.workspaceIds.length === 0 ? null : row.workspaceIds,
    allowed_hosts: (allowedHostsOf(row) ?? []).length === 0 ? null : allowedHostsOf(row),
    tags: readDocument(row.tags),
  });
}

/** The stored auth config with sealed secrets. */
export function readAuth(row: Pick<SecretReferenceWithWorkspaces, 'auth_config'>): AuthConfig {
  return readDocument<AuthConfig>(row.auth_config)!;
}
