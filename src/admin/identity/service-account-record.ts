/** Converts service accounts to API records and to the body that would create them again. */
import { z } from 'zod';
import { RotationPolicy } from '../../model/people/api-key.ts';
import { ServiceAccountStatus } from '../../model/people/service-account.ts';
import { omitNulls } from '../../model/wire/json-record.ts';
import type { StoredServiceAccountProfile } from '../../store/people/service-account-profiles.ts';
import { sentRotationPolicy } from '../access/rotation-record.ts';
import { constant, document, nullableTimestamp, record, timestamp } from '../request/record.ts';

/** A profile with what other tables know of the account. */
export interface AccountWithRoles extends StoredServiceAccountProfile {
  readonly client_id: string;
  /** In its own tenant or workspace. */
  readonly roles: string[];
}

const account = record<AccountWithRoles>()({
  id: z.uuid(),
  client_id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  roles: z.array(z.string()),
  status: ServiceAccountStatus,
  organisation_id: z.uuid(),
  workspace_id: z.uuid().nullable(),
  /** `auto` for the account of `gatewright bootstrap`. */
  creation_mode: z.enum(['api', 'auto']),
  rotation_policy: document(RotationPolicy),
  rotated_at: nullableTimestamp,
  /** When the previous secret ends or ended. */
  transition_expires_at: nullableTimestamp,
  created_by: z.string(),
  created_at: timestamp,
  last_updated_at: timestamp,
  object: constant('service-account'),
});

export const ServiceAccountRecord = account.schema;
export const serviceAccountToRecord = account.toRecord;

/** The body that would create this account; sync compares it with its manifests. */
export function serviceAccountToSpec(row: AccountWithRoles): Record<string, unknown> {
  const { name, roles, workspace_id, description, status } = row;
  return omitNulls({
    name,
    roles,
    workspace_id,
    description,
    status,
    rotation_policy: sentRotationPolicy(row),
  });
}
