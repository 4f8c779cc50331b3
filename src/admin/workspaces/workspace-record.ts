/** Converts workspaces to API records and to the body that would create them again. */
import { z } from 'zod';
import type { RateLimits } from '../../model/limits/key-limits.ts';
import { WorkspaceRateLimits, WorkspaceUsageLimits } from '../../model/limits/workspace-limits.ts';
import { JsonRecord, omitNulls, readDocument } from '../../model/wire/json-record.ts';
import { Flag } from '../../model/wire/resource-fields.ts';
import {
  formatTimestamp,
  formatTimestampOrNull,
  ResponseTimestamp,
} from '../../model/wire/timestamp.ts';
import {
  effectiveSettings,
  SecurityRecord,
  type SecuritySettings,
} from '../../model/workspaces/security-settings.ts';
import {
  displayName,
  type WorkspaceDefaults,
  WorkspaceSettings,
} from '../../model/workspaces/workspace.ts';
import type { MemberWithUser } from '../../store/people/workspace-members.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import type { BudgetState } from '../../store/usage/usage-budgets.ts';
import { toWorkspaceUser, WorkspaceUser } from './workspace-member-record.ts';
import { settingsOf } from './workspace-settings.ts';

/** Omits names that a user does not have, because clients accept only strings in the response of create. */
const FirstMember = WorkspaceUser.extend({
  first_name: z.string().optional(),
  last_name: z.string().optional(),
});

/** Response of create. */
export const WorkspaceCreated = z.object({
  id: z.uuid(),
  slug: z.string(),
  /** Includes the icon as a prefix. */
  name: z.string(),
  icon: z.string().nullable(),
  description: z.string().nullable(),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  defaults: JsonRecord.nullable(),
  usage_limits: WorkspaceUsageLimits,
  rate_limits: WorkspaceRateLimits,
  scope_name: z.string(),
  users: z.array(FirstMember),
  object: z.literal('workspace'),
});

/** Items of the list. */
export const WorkspaceListItem = WorkspaceCreated.omit({ users: true }).extend({
  is_default: Flag,
  status: z.enum(['active', 'archived']),
  security_settings: SecurityRecord,
  scim_source_id: z.null(),
});

/** Response of get. */
export const WorkspaceRecord = WorkspaceListItem.extend({
  organisation_id: z.uuid(),
  created_by: z.string(),
  creation_source: z.null(),
  last_reset_at: ResponseTimestamp.nullable(),
  settings: WorkspaceSettings,
  users: z.array(WorkspaceUser),
});

export type NameFormat = 'display' | 'plain';

export function workspaceToCreated(
  row: StoredWorkspace,
  members: readonly MemberWithUser[],
): z.infer<typeof WorkspaceCreated> {
  return {
    ...commonFields(row, 'display'),
    users: members.map(toFirstMember),
    object: 'workspace',
  };
}

function toFirstMember(member: MemberWithUser): z.infer<typeof FirstMember> {
  const { first_name, last_name, ...user } = toWorkspaceUser(member);
  return {
    ...user,
    ...(first_name !== null && { first_name }),
    ...(last_name !== null && { last_name }),
  };
}

export function workspaceToItem(
  row: StoredWorkspace,
  names: NameFormat,
): z.infer<typeof WorkspaceListItem> {
  return {
    ...commonFields(row, names),
    is_default: row.is_default === 0 ? 0 : 1,
    status: row.status,
    security_settings: effectiveSettings(readDocument<SecuritySettings>(row.security_settings)),
    scim_source_id: null,
    object: 'workspace',
  };
}

/** `budget` is the workspace's current budget state, if it has a budget. */
export function workspaceToRecord(
  row: StoredWorkspace,
  budget: BudgetState | undefined,
  members: readonly MemberWithUser[],
  names: NameFormat,
): z.infer<typeof WorkspaceRecord> {
  return {
    ...workspaceToItem(row, names),
    organisation_id: row.organisation_id,
    created_by: row.created_by,
    creation_source: null,
    last_reset_at: formatTimestampOrNull(budget?.lastResetAt ?? null),
    settings: settingsOf(row),
    users: members.map(toWorkspaceUser),
  };
}

/**
 * The body that would create this workspace, without absent fields; sync compares it with its manifests.
 */
export function workspaceToSpec(row: StoredWorkspace): Record<string, unknown> {
  const defaults = readDocument<WorkspaceDefaults>(row.defaults) ?? {};
  const { metadata = null, allow_config_override = null } = defaults;
  const [budget] = readDocument<WorkspaceUsageLimits>(row.usage_limits) ?? [];
  return omitNulls({
    name: row.name,
    description: row.description,
    icon: row.icon,
    scope_name: row.scope_name,
    defaults: orNull(omitNulls({ metadata, allow_config_override })),
    usage_limits: budget === undefined ? null : omitNulls(budget),
    rate_limits: readDocument<RateLimits>(row.rate_limits),
    settings: orNull(settingsOf(row)),
    security_settings: readDocument<SecuritySettings>(row.security_settings),
  });
}

function orNull<T extends object>(fields: T): T | null {
  return Object.keys(fields).length === 0 ? null : fields;
}

function commonFields(row: StoredWorkspace, names: NameFormat) {
  return {
    id: row.id,
    slug: row.slug,
    name: names === 'display' ? displayName(row) : row.name,
    icon: row.icon,
    description: row.description,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    defaults: readDocument<JsonRecord>(row.defaults),
    usage_limits: readDocument<WorkspaceUsageLimits>(row.usage_limits) ?? [],
    rate_limits: readDocument<RateLimits>(row.rate_limits) ?? [],
    scope_name: row.scope_name ?? row.slug,
  };
}
