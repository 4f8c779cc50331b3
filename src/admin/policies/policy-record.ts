/** Converts the fields common to all policies to API records and bodies. */
import { z } from 'zod';
import {
  conditionsSchema,
  type GroupBy,
  groupBySchema,
  type PolicyCondition,
} from '../../model/limits/policy.ts';
import { rateKeys } from '../../model/limits/rate-limit-policy.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { StoredPolicy } from '../../store/rows/policy-table.ts';

/** Spread into the schema of a record. */
export const policyRecordFields = {
  id: z.uuid(),
  name: z.string().nullable(),
  description: z.string().nullable(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid().nullable(),
  conditions: conditionsSchema(rateKeys),
  group_by: groupBySchema(rateKeys),
  status: z.enum(['active', 'archived']),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
};

/** The values of {@link policyRecordFields}. */
export function toPolicyRecord(row: StoredPolicy) {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    conditions: JSON.parse(row.conditions) as PolicyCondition[],
    group_by: JSON.parse(row.group_by) as GroupBy,
    status: row.status,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
  };
}

/** The common part of the body that would create this policy. */
export function toPolicySpec(row: StoredPolicy): Record<string, unknown> {
  const { name, description, workspace_id, conditions, group_by } = toPolicyRecord(row);
  return { name, description, workspace_id, conditions, group_by };
}
