/** Knows what the API tells about a workspace: the record, and the body that would make it again. */
import { z } from 'zod';
import { JsonRecord, readDocument, sparse } from '../../model/json-record.ts';
import type { RateLimits } from '../../model/key-limits.ts';
import { Flag } from '../../model/resource-fields.ts';
import {
  effectiveSettings,
  SecurityRecord,
  type SecuritySettings,
} from '../../model/security-settings.ts';
import {
  AnsweredTimestamp,
  formatTimestamp,
  formatTimestampOrNull,
} from '../../model/timestamp.ts';
import { displayName, type WorkspaceDefaults, WorkspaceSettings } from '../../model/workspace.ts';
import { WorkspaceRateLimits, WorkspaceUsageLimits } from '../../model/workspace-limits.ts';
import type { BudgetState } from '../../store/tables/usage-budgets.ts';
import type { MemberWithUser } from '../../store/tables/workspace-members.ts';
import type { StoredWorkspace } from '../../store/tables/workspaces.ts';
import { toWorkspaceUser, WorkspaceUser } from './workspace-member-record.ts';
import { toldSettings } from './workspace-settings.ts';

/** Without the names that a user has not: clients take texts only in the answer of create. */
const FirstMember = WorkspaceUser.extend({
  first_name: z.string().optional(),
  last_name: z.string().optional(),
});

/** Response of create. */
export const WorkspaceCreated = z.object({
  id: z.uuid(),
  slug: z.string(),
  /** With the icon before it. */
  name: z.string(),
  icon: z.string().nullable(),
  description: z.string().nullable(),
  created_at: AnsweredTimestamp,
  last_updated_at: AnsweredTimestamp,
  defaults: JsonRecord.nullable(),
  usage_limits: WorkspaceUsageLimits,
  rate_limits: WorkspaceRateLimits,
  scope_name: z.string(),
  users: z.array(FirstMember),
  object: z.literal('workspace'),
});

/** Items of the list. */
export const WorkspaceItem = WorkspaceCreated.omit({ users: true }).extend({
  is_default: Flag,
  status: z.enum(['active', 'archived']),
  security_settings: SecurityRecord,
  scim_source_id: z.null(),
});

/** Response of get. */
export const WorkspaceRecord = WorkspaceItem.extend({
  organisation_id: z.uuid(),
  created_by: z.string(),
  creation_source: z.null(),
  last_reset_at: AnsweredTimestamp.nullable(),
  settings: WorkspaceSettings,
  users: z.array(WorkspaceUser),
});

export type NameFormat = 'display' | 'plain';

/** Answer of create. */
export function toCreated(
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

/** One item of the list. */
export function toItem(row: StoredWorkspace, names: NameFormat): z.infer<typeof WorkspaceItem> {
  return {
    ...commonFields(row, names),
    is_default: row.is_default === 0 ? 0 : 1,
    status: row.status,
    security_settings: effectiveSettings(readDocument<SecuritySettings>(row.security_settings)),
    scim_source_id: null,
    object: 'workspace',
  };
}

/** Answer of get; `budget` is the workspace's as of now, where it has one. */
export function toRecord(
  row: StoredWorkspace,
  budget: BudgetState | undefined,
  members: readonly MemberWithUser[],
  names: NameFormat,
): z.infer<typeof WorkspaceRecord> {
  return {
    ...toItem(row, names),
    organisation_id: row.organisation_id,
    created_by: row.created_by,
    creation_source: null,
    last_reset_at: formatTimestampOrNull(budget?.lastResetAt ?? null),
    settings: toldSettings(row),
    users: members.map(toWorkspaceUser),
  };
}

/** The body that would create this workspace, sparse: what the snapshot shows to sync. */
export function toSpec(row: StoredWorkspace): Record<string, unknown> {
  const defaults = readDocument<WorkspaceDefaults>(row.defaults) ?? {};
  const { metadata = null, allow_config_override = null } = defaults;
  const usageLimits = readDocument<WorkspaceUsageLimits>(row.usage_limits);
  return sparse({
    name: row.name,
    description: row.description,
    icon: row.icon,
    scope_name: row.scope_name,
    defaults: orNull(sparse({ metadata, allow_config_override })),
    usage_limits: usageLimits === null ? null : usageLimits.map((limits) => sparse(limits)),
    rate_limits: readDocument<RateLimits>(row.rate_limits),
    settings: orNull(toldSettings(row)),
    security_settings: readDocument<SecuritySettings>(row.security_settings),
  });
}

function orNull<T extends object>(told: T): T | null {
  return Object.keys(told).length === 0 ? null : told;
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
