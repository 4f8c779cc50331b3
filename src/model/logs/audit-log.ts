/** Defines the records of the audit log in responses and converts rows to them. */
import { z } from 'zod';
import { idFromBytes } from '../wire/ids.ts';
import { JsonRecord } from '../wire/json-record.ts';
import { formatTimestamp, ResponseTimestamp } from '../wire/timestamp.ts';
import type { SealedRow } from './audit-chain.ts';

/** HTTP method of each recorded action; '' for an action that no request triggered. */
export const methodOfAction: Readonly<Record<string, string>> = {
  create: 'POST',
  update: 'PUT',
  delete: 'DELETE',
  reset: 'PUT',
  rotate: 'POST',
  read: 'GET',
  bind: 'POST',
  release: 'POST',
  suspend: 'PUT',
  resume: 'DELETE',
};

/**
 * A recorded change. Some fields exist only for compatibility with clients of other servers; those that
 * this server does not store are '' or `{}`.
 */
export const AuditLogRecord = z.object({
  id: z.uuid(),
  object: z.literal('audit_log'),
  timestamp: ResponseTimestamp,
  action: z.string(),
  resource_type: z.string(),
  resource_id: z.string(),
  user_type: z.string(),
  user_id: z.string(),
  organisation_id: z.string(),
  workspace_id: z.string().meta({ description: 'Empty for a resource outside of workspaces' }),
  request_id: z.string(),
  method: z.string(),
  uri: z.string(),
  request_body: z.string().meta({
    description: 'JSON: names of the changed fields, and other facts; never a secret value',
  }),
  query_params: z.string(),
  request_headers: z.string(),
  response_status_code: z.int(),
  client_ip: z.string(),
  country: z.string(),
  /** Null until the row is sealed. */
  chain_position: z.int().nullable(),
  chain_hash: z.string().nullable(),
});
export type AuditLogRecord = z.infer<typeof AuditLogRecord>;

/** A row that may not be sealed yet. */
type AuditRow = Omit<SealedRow, 'chain_position' | 'chain_hash'> & {
  readonly chain_position: number | null;
  readonly chain_hash: Buffer | null;
};

/** Only successful changes are recorded, and refused sign-ins. */
const statusOfChange = 200;
const statusOfRefusal = 401;

function statusOf({ action }: AuditRow): number {
  return action === 'refuse' ? statusOfRefusal : statusOfChange;
}

export function toAuditRecord(row: AuditRow): AuditLogRecord {
  return {
    id: idFromBytes(row.id),
    object: 'audit_log',
    timestamp: formatTimestamp(row.at),
    action: row.action,
    resource_type: row.resource_kind,
    resource_id: row.resource_id,
    user_type: row.actor_kind.replaceAll('-', '_'),
    user_id: row.actor_id,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id ?? '',
    request_id: row.request_id,
    method: methodOfAction[row.action] ?? '',
    uri: '',
    request_body: row.changes,
    query_params: '{}',
    request_headers: '{}',
    response_status_code: statusOf(row),
    client_ip: '',
    country: '',
    chain_position: row.chain_position,
    chain_hash: row.chain_hash?.toString('hex') ?? null,
  };
}

/** The same change, with the field names of clients that use actors. */
const AuditEvent = z.object({
  id: z.uuid(),
  action: z.string(),
  actor_id: z.string(),
  actor_type: z.string(),
  resource_type: z.string(),
  resource_id: z.string(),
  organisation_id: z.string(),
  workspace_id: z.string().nullable(),
  metadata: JsonRecord.meta({ description: 'Names of the changed fields, and other facts' }),
  created_at: ResponseTimestamp,
});

export function toAuditEvent(row: AuditRow): z.infer<typeof AuditEvent> {
  return {
    id: idFromBytes(row.id),
    action: row.action,
    actor_id: row.actor_id,
    actor_type: row.actor_kind.replaceAll('-', '_'),
    resource_type: row.resource_kind,
    resource_id: row.resource_id,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    metadata: JSON.parse(row.changes),
    created_at: formatTimestamp(row.at),
  };
}

/** A page of the audit log, newest first. */
export const AuditLogPage = z.object({
  object: z.literal('list'),
  records: z.array(AuditLogRecord),
  /** The same changes with other field names. */
  data: z.array(AuditEvent),
  current_page: z.int().min(0),
  page_size: z.int().min(1),
  /** Cursor of the next page; null on the last. */
  next_cursor: z.string().nullable(),
});
